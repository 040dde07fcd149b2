package apiserver

import (
	"fmt"
	"net/http"
	"slices"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/moorage-dev/moorage/internal/patch"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// MaxAnnotations is how large all annotations of an object together may be.
const maxAnnotations = 256 << 10

var metaPath = field.NewPath("metadata")

func (k *kind) invalid(name string, errs ...*field.Error) error {
	return kerrors.NewInvalid(k.gvk.GroupKind(), name, errs)
}

func (k *kind) conflict(name string) error {
	return kerrors.NewConflict(k.resource, name,
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

func (s *Server) get(k *kind, key types.NamespacedName) (*version, error) {
	if v := s.objects[id{k.gvk, key}]; v != nil {
		return v, nil
	}

	return nil, kerrors.NewNotFound(k.resource, key.Name)
}

// post creates an object that is what is in data.
func (s *Server) post(k *kind, key types.NamespacedName, data []byte, by manager) (*version, error) {
	create := func() (*version, error) {
		image, err := decodeJSON(data)
		if err != nil {
			return nil, err
		}

		return s.create(k, key, k.named(image), by)
	}
	if key.Name == "" || s.objects[id{k.gvk, key}] != nil { // its name is chosen, or taken
		return create()
	}

	return s.once(cachedWrite{kind: k, key: key, verb: "create", by: by, data: string(data), at: s.timestamp(),
		uid: s.nextUID()},
		create)
}

// create stores a new object.
func (s *Server) create(k *kind, key types.NamespacedName, image map[string]any, by manager) (*version, error) {
	image = withMetadata(image)
	m := metadata(image)
	prefix, _ := m["generateName"].(string)
	if key.Name == "" && prefix != "" {
		s.names++
		key.Name = fmt.Sprintf("%s%05d", prefix, s.names)
		m["name"] = key.Name
	}
	if key.Name == "" {
		return nil, k.invalid("", field.Required(metaPath.Child("name"), "name or generateName is required"))
	}
	for _, given := range []string{"deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields",
		"selfLink"} {
		delete(m, given)
	}
	m["uid"], m["creationTimestamp"] = s.nextUID(), s.timestamp()
	if k.custom {
		m["generation"] = int64(1)
	}
	if k.hasStatus {
		delete(image, "status")
	}
	patch.DropEmptyMetadata(m)
	if err := k.checkMetadata(key.Name, m); err != nil {
		return nil, err
	}

	if m["resourceVersion"] != nil && m["resourceVersion"] != "" {
		return nil, &kerrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "resourceVersion should not be set on objects to be created",
		}}
	}
	if s.objects[id{k.gvk, key}] != nil {
		return nil, kerrors.NewAlreadyExists(k.resource, key.Name)
	}

	return s.commit(k, key, k.prune(image), by)
}

// replace makes an object what is in data.
func (s *Server) replace(old *version, key types.NamespacedName, data []byte, by manager) (*version, error) {
	image, err := decodeJSON(data)
	if err != nil {
		return nil, err
	}
	k, m := old.kind, metadata(image)
	if uid := m["uid"]; uid != nil && uid != metadata(old.image)["uid"] {
		return nil, kerrors.NewConflict(k.resource, key.Name,
			errors.Errorf("Precondition failed: UID in precondition: %v", uid))
	}
	if k.custom && m["resourceVersion"] == nil {
		return nil, k.invalid(key.Name, missingVersion())
	}

	return s.write(old, key, k.named(image), by)
}

// patch changes an object as data says.
func (s *Server) patch(old *version, key types.NamespacedName, how types.PatchType, data []byte, by manager) (*version,
	error) {
	image, err := patch.Apply(old.kind.resource, key.Name, old.image, how, data)
	if err != nil {
		return nil, err
	}
	if name := metadata(image)["name"]; name != key.Name {
		return nil, kerrors.NewBadRequest("the name of the object does not match the name on the URL")
	}

	return s.write(old, key, image, by)
}

// write stores a change of an object. Image is the whole object as it is to become;
// through which subresource it comes says which part of it counts: all but the
// status, or nothing but that.
func (s *Server) write(old *version, key types.NamespacedName, image map[string]any, by manager) (*version, error) {
	k := old.kind
	before := metadata(old.image)
	given := metadata(image)
	if v, _ := given["resourceVersion"].(string); v != "" && v != before["resourceVersion"] {
		return nil, k.conflict(key.Name)
	}
	if by.sub != "" {
		next := clone(old.image)
		delete(next, "status")
		if status, ok := image["status"]; ok {
			next["status"] = status
		}
		image = next
	} else if k.hasStatus {
		image = clone(image)
		delete(image, "status")
		if status, ok := old.image["status"]; ok {
			image["status"] = status
		}
	}
	image = withMetadata(k.prune(image))
	s.ignore(old.image, image)
	m := metadata(image)
	if err := k.checkMetadata(key.Name, m); err != nil {
		return nil, err
	}
	if err := k.checkUpdate(key.Name, before, m); err != nil {
		return nil, err
	}
	for _, own := range []string{"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
		"resourceVersion", "uid", "namespace", "generateName"} {
		if value, ok := before[own]; ok {
			m[own] = value
		} else {
			delete(m, own)
		}
	}
	delete(m, "managedFields")
	patch.DropEmptyMetadata(m)
	if equal(image, old.image) {
		return old, nil
	}
	if generation, ok := before["generation"].(int64); ok && k.custom && !sameBody(old.image, image) {
		m["generation"] = generation + 1
	}

	return s.commit(k, key, image, by)
}

// ignore removes from an image what must not be stored. The metadata of the image must not be shared.
func (s *Server) ignore(before, image map[string]any) {
	m, had := metadata(image), metadata(before)
	switch s.ignored {
	case "annotations":
		was, _ := had["annotations"].(map[string]any)
		is, _ := m["annotations"].(map[string]any)
		kept := map[string]any{}
		for key := range is {
			if value, ok := was[key]; ok {
				kept[key] = value
			}
		}
		m["annotations"] = kept
	case "finalizers":
		was, _ := had["finalizers"].([]any)
		is, _ := m["finalizers"].([]any)
		m["finalizers"] = slices.DeleteFunc(slices.Clone(is), func(f any) bool { return !slices.Contains(was, f) })
	case "status":
		if was, ok := before["status"]; ok {
			image["status"] = was
		} else {
			delete(image, "status")
		}
	}
}

// sameBody says whether two images differ in no more than metadata and status.
func sameBody(a, b map[string]any) bool {
	for _, m := range [][2]map[string]any{{a, b}, {b, a}} {
		for key, value := range m[0] {
			if key != "metadata" && key != "status" && !equal(value, m[1][key]) {
				return false
			}
		}
	}

	return true
}

// checkUpdate checks what of the metadata must not change.
func (k *kind) checkUpdate(name string, before, now map[string]any) error {
	if now["uid"] != nil && now["uid"] != "" && now["uid"] != before["uid"] {
		return k.invalid(name, field.Invalid(metaPath.Child("uid"), now["uid"], "field is immutable"))
	}
	if before["deletionTimestamp"] == nil {
		return nil
	}
	had, _ := before["finalizers"].([]any)
	want, _ := now["finalizers"].([]any)
	for _, f := range want {
		if !slices.Contains(had, f) {
			return k.invalid(name, field.Forbidden(metaPath.Child("finalizers"),
				fmt.Sprintf("no new finalizers can be added if the object is being deleted, found new finalizers %q", f)))
		}
	}

	return nil
}

func (k *kind) checkMetadata(name string, m map[string]any) error {
	annotations, _ := m["annotations"].(map[string]any)
	size := 0
	for key, value := range annotations {
		text, ok := value.(string)
		if !ok && value != nil {
			return kerrors.NewBadRequest(fmt.Sprintf("annotation %s is not a string", key))
		}
		size += len(key) + len(text)
	}
	if size > maxAnnotations {
		return k.invalid(name, field.TooLong(metaPath.Child("annotations"), "", maxAnnotations))
	}

	return nil
}

func (k *kind) prune(image map[string]any) map[string]any {
	for _, path := range k.drops {
		image = without(image, path)
	}

	return image
}

// delete marks an object as deleted, or removes it if it has no finalizer.
func (s *Server) delete(old *version, key types.NamespacedName, p *metav1.Preconditions) error {
	m := metadata(old.image)
	if p != nil && p.UID != nil && string(*p.UID) != m["uid"] {
		return kerrors.NewConflict(old.kind.resource, key.Name, errors.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and "+
				"then recreated", *p.UID, m["uid"]))
	}
	if p != nil && p.ResourceVersion != nil && *p.ResourceVersion != m["resourceVersion"] {
		return kerrors.NewConflict(old.kind.resource, key.Name, errors.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might "+
				"have been modified",
			*p.ResourceVersion, m["resourceVersion"]))
	}
	keep, _ := m["finalizers"].([]any)
	if len(keep) == 0 {
		s.remove(old, key)

		return nil
	}
	if m["deletionTimestamp"] != nil {
		return nil
	}
	now := s.timestamp()
	_, err := s.once(cachedWrite{kind: old.kind, old: old, key: key, verb: "delete", at: now}, func() (*version, error) {
		image := withMetadata(old.image)
		m := metadata(image)
		m["deletionTimestamp"], m["deletionGracePeriodSeconds"] = now, int64(0)
		if generation, ok := m["generation"].(int64); ok && old.kind.custom {
			m["generation"] = generation + 1
		}

		return s.commit(old.kind, key, image, manager{})
	})

	return err
}
