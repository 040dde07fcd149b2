package apiserver

import (
	"fmt"
	"slices"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/moorage-dev/moorage/internal/apicore"
)

var metaPath = field.NewPath(apicore.FieldMetadata)

func (s *Server) get(k *kind, key types.NamespacedName) (*version, error) {
	if v := s.objects[id{k.GVK, key}]; v != nil {
		return v, nil
	}

	return nil, kerrors.NewNotFound(k.Resource, key.Name)
}

// post creates an object from its JSON in data.
func (s *Server) post(k *kind, key types.NamespacedName, data []byte, by manager) (*version, error) {
	create := func() (*version, error) {
		image, err := decodeJSON(data)
		if err != nil {
			return nil, err
		}

		return s.create(k, key, image, by)
	}
	if key.Name == "" || s.objects[id{k.GVK, key}] != nil { // its name is chosen, or taken
		return create()
	}

	return s.once(cachedWrite{kind: k, key: key, verb: "create", by: by, data: string(data), at: s.timestamp(),
		uid: s.nextUID()},
		create)
}

// create stores a new object.
func (s *Server) create(k *kind, key types.NamespacedName, given map[string]any, by manager) (*version, error) {
	image, err := k.Create(given, s.generateName, func(image map[string]any) error {
		if key.Name == "" && apicore.Name(image) == "" {
			return k.Invalid("", field.Required(metaPath.Child("name"), "name or generateName is required"))
		}

		return k.checkAnnotations(image)
	})
	if err != nil {
		return nil, err
	}
	if key.Name == "" {
		key.Name = apicore.Name(image)
	}
	if s.objects[id{k.GVK, key}] != nil {
		return nil, kerrors.NewAlreadyExists(k.Resource, key.Name)
	}
	m := apicore.Metadata(image)
	m["uid"], m["creationTimestamp"] = s.nextUID(), s.timestamp()
	if k.Custom {
		m["generation"] = int64(1)
	}

	return s.commit(k, key, k.prune(image), by)
}

// generateName returns a new name with the prefix. No other object with a generated name has it.
func (s *Server) generateName(prefix string) string {
	s.names++

	return fmt.Sprintf("%s%05d", prefix, s.names)
}

// replace replaces an object with the JSON in data.
func (s *Server) replace(old *version, key types.NamespacedName, data []byte, by manager) (*version, error) {
	image, err := decodeJSON(data)
	if err != nil {
		return nil, err
	}
	if err := old.kind.CheckReplace(old.image, image); err != nil {
		return nil, err
	}

	return s.write(old, key, image, by)
}

// patch changes an object with the patch in data.
func (s *Server) patch(old *version, key types.NamespacedName, how types.PatchType, data []byte, by manager) (*version,
	error) {
	image, err := old.kind.Patch(old.image, how, data)
	if err != nil {
		return nil, err
	}

	return s.write(old, key, image, by)
}

// write stores a change of an object. given is the complete new object. The subresource of the request determines which
// part of given is used: everything except the status, or only the status.
func (s *Server) write(old *version, key types.NamespacedName, given map[string]any, by manager) (*version, error) {
	k := old.kind
	image, err := k.Update(apicore.Update{
		Stored: old.image, Given: given, Subresource: by.sub,
		Adjust: func(image map[string]any) map[string]any {
			image = k.prune(image)
			s.ignore(old.image, image)

			return image
		},
		Check: k.checkAnnotations,
	})
	if err != nil {
		return nil, err
	}
	if apicore.Equal(image, old.image) {
		return old, nil
	}

	return s.commit(k, key, image, by)
}

// ignore applies Drop and Ignore to an image that is to be stored. The metadata of the image must not be shared.
func (s *Server) ignore(before, image map[string]any) {
	m, had := apicore.Metadata(image), apicore.Metadata(before)
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

// checkAnnotations checks that annotations are strings, and that their total size is allowed.
func (k *kind) checkAnnotations(image map[string]any) error {
	annotations, _ := apicore.Metadata(image)["annotations"].(map[string]any)
	size := 0
	for key, value := range annotations {
		text, ok := value.(string)
		if !ok && value != nil {
			return kerrors.NewBadRequest(fmt.Sprintf("annotation %s is not a string", key))
		}
		size += len(key) + len(text)
	}
	if size > validation.TotalAnnotationSizeLimitB {
		return k.Invalid(apicore.Name(image),
			field.TooLong(metaPath.Child("annotations"), "", validation.TotalAnnotationSizeLimitB))
	}

	return nil
}

func (k *kind) prune(image map[string]any) map[string]any {
	for _, path := range k.drops {
		image = without(image, path)
	}

	return image
}

// delete removes an object, or sets its deletion timestamp if it has finalizers.
func (s *Server) delete(old *version, key types.NamespacedName, p *metav1.Preconditions) error {
	if err := old.kind.CheckPreconditions(old.image, p); err != nil {
		return err
	}
	m := apicore.Metadata(old.image)
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
		image := apicore.WithMetadata(old.image)
		m := apicore.Metadata(image)
		m["deletionTimestamp"], m["deletionGracePeriodSeconds"] = now, int64(0)
		if generation, ok := m["generation"].(int64); ok && old.kind.Custom {
			m["generation"] = generation + 1
		}

		return s.commit(old.kind, key, image, manager{})
	})

	return err
}
