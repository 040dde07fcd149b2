package apicore

import (
	"net/http"
	"reflect"
	"strings"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// optimisticLockText is registry.OptimisticLockErrorMsg of k8s.io/apiserver.
const optimisticLockText = "the object has been modified; please apply your changes to the latest version and try again"

// A Kind describes a kind of objects, as far as the response to a write depends on it. Errors of its methods are those
// of an API server.
type Kind struct {
	GVK       schema.GroupVersionKind
	Resource  schema.GroupResource
	Custom    bool // a custom resource: generations are counted, and an update names the version that it replaces
	HasStatus bool // the status is a subresource
}

// NewKind returns a Kind whose Go type is the struct of. A kind is a custom resource if its group contains a dot and
// does not end in .k8s.io. A field status is the subresource status.
func NewKind(gvk schema.GroupVersionKind, resource schema.GroupResource, of reflect.Type) Kind {
	k := Kind{GVK: gvk, Resource: resource}
	k.Custom = strings.Contains(gvk.Group, ".") && !strings.HasSuffix(gvk.Group, ".k8s.io")
	if f, ok := of.FieldByName("Status"); ok {
		k.HasStatus = strings.HasPrefix(f.Tag.Get("json"), FieldStatus)
	}

	return k
}

// Invalid returns an error with status 422 and the given causes.
func (k Kind) Invalid(name string, errs ...*field.Error) error {
	return kerrors.NewInvalid(k.GVK.GroupKind(), name, errs)
}

// Conflict returns an error with status 409, for a request whose resourceVersion is not the stored one.
func (k Kind) Conflict(name string) error {
	return kerrors.NewConflict(k.Resource, name, errors.New(optimisticLockText))
}

// CheckPreconditions returns a conflict if a stored object does not satisfy the preconditions of a delete. The
// preconditions may be nil. The texts are those of registry/rest of k8s.io/apiserver.
func (k Kind) CheckPreconditions(stored map[string]any, p *metav1.Preconditions) error {
	m := Metadata(stored)
	switch {
	case p == nil:
		return nil
	case p.UID != nil && string(*p.UID) != m["uid"]:
		return kerrors.NewConflict(k.Resource, Name(stored), errors.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%v). The object might have been deleted "+
				"and then recreated", *p.UID, m["uid"]))
	case p.ResourceVersion != nil && *p.ResourceVersion != m["resourceVersion"]:
		return kerrors.NewConflict(k.Resource, Name(stored), errors.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%v). The object "+
				"might have been modified", *p.ResourceVersion, m["resourceVersion"]))
	default:
		return nil
	}
}

// CheckReplace returns an error if a request to replace a stored object is for one with
// another UID, or does not name a version although it has to. An empty UID or version counts as
// none. The text of the UID is that of storage.Preconditions of k8s.io/apiserver.
func (k Kind) CheckReplace(stored, given map[string]any) error {
	m, before := Metadata(given), Metadata(stored)
	if uid := m["uid"]; uid != nil && uid != "" && uid != before["uid"] {
		return kerrors.NewConflict(k.Resource, Name(stored), errors.Errorf(
			"Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, before["uid"]))
	}
	if v := m["resourceVersion"]; k.Custom && (v == nil || v == "") {
		return k.Invalid(Name(stored), field.Invalid(versionPath(), 0, "must be specified for an update"))
	}

	return nil
}

// checkVersion returns an error if a new object has a version.
func checkVersion(m map[string]any) error {
	if v := m["resourceVersion"]; v == nil || v == "" {
		return nil
	}

	return &kerrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
		Message: "resourceVersion should not be set on objects to be created",
	}}
}

// checkUID returns an error if an update would change the UID.
func (k Kind) checkUID(name string, uid, stored any) error {
	if uid == nil || uid == "" || uid == stored {
		return nil
	}

	return k.Invalid(name, field.Invalid(field.NewPath(FieldMetadata, "uid"), uid, validation.FieldImmutableErrorMsg))
}

// checkFinalizers returns an error if an update adds finalizers to an object that is being deleted.
func (k Kind) checkFinalizers(name string, before, now map[string]any) error {
	if before["deletionTimestamp"] == nil {
		return nil
	}
	errs := validation.ValidateNoNewFinalizers(texts(now["finalizers"]), texts(before["finalizers"]),
		field.NewPath(FieldMetadata, "finalizers"))
	if len(errs) > 0 {
		return k.Invalid(name, errs...)
	}

	return nil
}

func versionPath() *field.Path { return field.NewPath(FieldMetadata, "resourceVersion") }

// texts returns the elements of a list as strings. An element of another type becomes "".
func texts(of any) []string {
	list, _ := of.([]any)
	out := make([]string, 0, len(list))
	for _, value := range list {
		text, _ := value.(string)
		out = append(out, text)
	}

	return out
}
