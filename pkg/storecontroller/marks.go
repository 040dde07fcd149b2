package storecontroller

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// Prefixes of the labels and annotations that name the owner of an object in Kubernetes.
const (
	// DefaultMarkPrefix is the prefix of the zero value of Marks.
	DefaultMarkPrefix = "moorage.dev"

	// FormerMarkPrefix is the prefix that the zero value of Marks had in earlier versions. Package controllerruntime still
	// uses it, and so does Marks{Prefix: FormerMarkPrefix}.
	FormerMarkPrefix = "kumori"
)

// Keys of the annotations and labels that the zero value of Marks sets. See Marks.KindKey and Marks.KeyKey.
const (
	AnnotationKeyOwnerKind = "moorage.dev/ownerkind"
	AnnotationKeyOwnerKey  = "moorage.dev/ownerkey"
)

// Keys of the annotations for the epoch of the owner's store and the revision of the owner. See store.State.
const (
	AnnotationKeyOwnerEpoch    = "moorage.dev/owner-epoch"
	AnnotationKeyOwnerRevision = "moorage.dev/owner-revision"
)

// Marks are the labels and annotations that name the primary of an object in Kubernetes, by its kind and its key. The
// annotations have the complete values. The labels are for selectors; a value that a label cannot hold is replaced by
// its hash.
//
// The zero value is usable: it writes marks with DefaultMarkPrefix, and also reads marks with FormerMarkPrefix.
type Marks struct {
	// Prefix is the prefix of the labels and annotations. The default is DefaultMarkPrefix.
	Prefix string

	// Former is the prefix of the marks to read if an object has no marks with Prefix. Set replaces marks with the former
	// prefix that name an owner of the same kind. The default is FormerMarkPrefix if Prefix is empty, and none otherwise.
	Former string
}

// KindKey returns the key of the label and the annotation for the kind of the owner.
func (m Marks) KindKey() string { return m.prefix() + "/ownerkind" }

// KeyKey returns the key of the label and the annotation for the key of the owner.
func (m Marks) KeyKey() string { return m.prefix() + "/ownerkey" }

// prefix returns the prefix of the marks to write.
func (m Marks) prefix() string {
	if m.Prefix == "" {
		return DefaultMarkPrefix
	}

	return m.Prefix
}

// former returns the marks with the former prefix, which are also read, and whether there is such a prefix.
func (m Marks) former() (Marks, bool) {
	if m.Former == "" && m.Prefix == "" {
		return Marks{Prefix: FormerMarkPrefix}, true
	}

	return Marks{Prefix: m.Former}, m.Former != "" && m.Former != m.prefix()
}

// Set sets the marks of the object, and removes marks with the former prefix that name an owner of the same kind.
func (m Marks) Set(obj metav1.Object, owner store.Owner) {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	if f, ok := m.former(); ok &&
		(annotations[f.KindKey()] == owner.Kind || labels[f.KindKey()] == labelValue(owner.Kind)) {
		for _, key := range []string{f.KindKey(), f.KeyKey()} {
			delete(labels, key)
			delete(annotations, key)
		}
	}
	for key, value := range map[string]string{m.KindKey(): owner.Kind, m.KeyKey(): owner.Key} {
		labels[key], annotations[key] = labelValue(value), value
	}
	delete(annotations, AnnotationKeyOwnerEpoch)
	delete(annotations, AnnotationKeyOwnerRevision)
	if owner.Epoch != "" {
		annotations[AnnotationKeyOwnerEpoch] = owner.Epoch
		annotations[AnnotationKeyOwnerRevision] = strconv.FormatUint(owner.Revision, 10)
	}
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
}

// Owner returns the owner that the marks of the object name. If there are no marks with Prefix, it reads those with
// Former. The Kind of the owner is empty if there are no marks. Owner returns an error if the marks are incomplete.
func (m Marks) Owner(obj metav1.Object) (store.Owner, error) {
	owner := store.Owner{Kind: annotationOrLabel(obj, m.KindKey()), Key: annotationOrLabel(obj, m.KeyKey())}
	if f, ok := m.former(); ok && owner.Kind == "" {
		return f.Owner(obj)
	}
	if owner.Kind == "" {
		return store.Owner{}, nil
	}
	if owner.Key == "" {
		return owner, errors.Errorf("object %s/%s has an owner of kind %s, but no owner key", obj.GetNamespace(),
			obj.GetName(), owner.Kind)
	}
	owner.Epoch = obj.GetAnnotations()[AnnotationKeyOwnerEpoch]
	// A revision that is not a number counts as 0, which is in every store.
	owner.Revision, _ = strconv.ParseUint(obj.GetAnnotations()[AnnotationKeyOwnerRevision], 10, 64)

	return owner, nil
}

// annotationOrLabel returns the value of the annotation, which is never a hash. Without the annotation it returns the
// value of the label.
func annotationOrLabel(obj metav1.Object, key string) string {
	if value := obj.GetAnnotations()[key]; value != "" {
		return value
	}

	return obj.GetLabels()[key]
}

// Selector returns a selector for objects whose marks name the primary with the kind and the key. The selector does not
// match marks with the former prefix. With an empty key it matches the marks of all primaries of the kind.
func (m Marks) Selector(kind, key string) labels.Selector {
	set := labels.Set{m.KindKey(): labelValue(kind)}
	if key != "" {
		set[m.KeyKey()] = labelValue(key)
	}

	return labels.SelectorFromSet(set)
}

// selectors match the marks of all primaries of the kind, including former marks.
func (m Marks) selectors(kind string) []labels.Selector {
	out := []labels.Selector{m.Selector(kind, "")}
	if f, ok := m.former(); ok {
		out = append(out, f.Selector(kind, ""))
	}

	return out
}

// labelValue returns the value itself if a label can hold it, and a hash otherwise.
func labelValue(value string) string {
	if len(validation.IsValidLabelValue(value)) == 0 {
		return value
	}
	sum := sha256.Sum256([]byte(value))

	return "h-" + hex.EncodeToString(sum[:16])
}

// SetOwner marks an object in Kubernetes with the kind and the key of a primary, with FormerMarkPrefix. These marks
// have no epoch. Controller.SetOwner writes the epoch. Without the epoch, the garbage collector deletes the object
// only if GarbagePolicy.Unmarked is set, and a reconcile cannot distinguish a primary that was lost with its store
// from a deleted one.
//
// Deprecated: use Controller.SetOwner, Marks.Set, or SetOwner of package controllerruntime.
func SetOwner(obj metav1.Object, kind, key string) {
	Marks{Prefix: FormerMarkPrefix}.Set(obj, store.Owner{Kind: kind, Key: key})
}

// OwnerSelector returns a selector for objects that SetOwner has marked. The marks have FormerMarkPrefix.
//
// Deprecated: use Marks.Selector, or OwnerSelector of package controllerruntime.
func OwnerSelector(kind, key string) labels.Selector {
	return Marks{Prefix: FormerMarkPrefix}.Selector(kind, key)
}
