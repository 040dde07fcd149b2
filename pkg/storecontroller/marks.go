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

// Prefixes of the labels and annotations that say whose an object in Kubernetes is.
const (
	// DefaultMarkPrefix is that of Marks which name none.
	DefaultMarkPrefix = "moorage.dev"

	// FormerMarkPrefix was the default before, and is that of package
	// controllerruntime. Marks{Prefix: FormerMarkPrefix} keeps it.
	FormerMarkPrefix = "kumori"
)

// Annotations, and labels, that the default of Marks sets. See Marks.KindKey and KeyKey.
const (
	AnnotationKeyOwnerKind = "moorage.dev/ownerkind"
	AnnotationKeyOwnerKey  = "moorage.dev/ownerkey"
)

// Annotations that say of which life of the store an owner was, and how far that
// had gone. See store.State.
const (
	AnnotationKeyOwnerEpoch    = "moorage.dev/owner-epoch"
	AnnotationKeyOwnerRevision = "moorage.dev/owner-revision"
)

// Marks say on an object in Kubernetes which primary it was made for: kind and key
// stand in annotations, and in labels, to select by. A label cannot hold every key;
// one that does not fit is there as its hash.
//
// The zero value is usable: it marks with DefaultMarkPrefix, and reads what was marked
// with FormerMarkPrefix too.
type Marks struct {
	// Prefix of the labels and annotations. The default is DefaultMarkPrefix.
	Prefix string

	// Former is the prefix of marks that are read where those of Prefix are missing. Set
	// replaces them if they are of the same kind. The default is FormerMarkPrefix if
	// Prefix is empty, too, and none otherwise.
	Former string
}

// KindKey is the key of the label and of the annotation with the owner's kind.
func (m Marks) KindKey() string { return m.prefix() + "/ownerkind" }

// KeyKey is the key of the label and of the annotation with the owner's key.
func (m Marks) KeyKey() string { return m.prefix() + "/ownerkey" }

func (m Marks) prefix() string {
	if m.Prefix == "" {
		return DefaultMarkPrefix
	}

	return m.Prefix
}

// former returns the marks that are read as well, and whether there are any.
func (m Marks) former() (Marks, bool) {
	if m.Former == "" && m.Prefix == "" {
		return Marks{Prefix: FormerMarkPrefix}, true
	}

	return Marks{Prefix: m.Former}, m.Former != "" && m.Former != m.prefix()
}

// Set marks the object, and takes former marks of that kind away.
func (m Marks) Set(obj metav1.Object, owner store.Owner) {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	if f, ok := m.former(); ok && (annotations[f.KindKey()] == owner.Kind || labels[f.KindKey()] == labelValue(owner.Kind)) {
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

// Owner returns the owner that the object is marked with, or was marked with
// formerly; its kind is empty if there is none. An error says that a mark is half.
func (m Marks) Owner(obj metav1.Object) (store.Owner, error) {
	owner := store.Owner{Kind: either(obj, m.KindKey()), Key: either(obj, m.KeyKey())}
	if f, ok := m.former(); ok && owner.Kind == "" {
		return f.Owner(obj)
	}
	if owner.Kind == "" {
		return store.Owner{}, nil
	}
	if owner.Key == "" {
		return owner, errors.Errorf("object %s/%s has an owner of kind %s and does not say which", obj.GetNamespace(), obj.GetName(), owner.Kind)
	}
	owner.Epoch = obj.GetAnnotations()[AnnotationKeyOwnerEpoch]
	// What is no number says nothing: zero is older than every store.
	owner.Revision, _ = strconv.ParseUint(obj.GetAnnotations()[AnnotationKeyOwnerRevision], 10, 64)

	return owner, nil
}

// either prefers the annotation, which is never a hash.
func either(obj metav1.Object, key string) string {
	if value := obj.GetAnnotations()[key]; value != "" {
		return value
	}

	return obj.GetLabels()[key]
}

// Selector selects what is marked with the primary, and not what bears former marks
// alone. An empty key selects what is marked with any of the kind.
func (m Marks) Selector(kind, key string) labels.Selector {
	set := labels.Set{m.KindKey(): labelValue(kind)}
	if key != "" {
		set[m.KeyKey()] = labelValue(key)
	}

	return labels.SelectorFromSet(set)
}

// selectors select what is marked with a primary of the kind, formerly as well.
func (m Marks) selectors(kind string) []labels.Selector {
	out := []labels.Selector{m.Selector(kind, "")}
	if f, ok := m.former(); ok {
		out = append(out, f.Selector(kind, ""))
	}

	return out
}

// labelValue is the value itself if a label can hold it.
func labelValue(value string) string {
	if len(validation.IsValidLabelValue(value)) == 0 {
		return value
	}
	sum := sha256.Sum256([]byte(value))

	return "h-" + hex.EncodeToString(sum[:16])
}

// SetOwner marks an object in Kubernetes with a primary of which nothing but kind
// and key is known, by the marks of FormerMarkPrefix, which the default of Marks reads.
// A Controller's own SetOwner says more, which the garbage collector needs, and any
// pass that has to tell a primary that was lost with its store from one that was deleted.
//
// Deprecated: use SetOwner of a Controller, Marks.Set, or that of package controllerruntime.
func SetOwner(obj metav1.Object, kind, key string) {
	Marks{Prefix: FormerMarkPrefix}.Set(obj, store.Owner{Kind: kind, Key: key})
}

// OwnerSelector selects what SetOwner has marked: what bears marks of FormerMarkPrefix.
//
// Deprecated: use Marks.Selector, or that of package controllerruntime.
func OwnerSelector(kind, key string) labels.Selector {
	return Marks{Prefix: FormerMarkPrefix}.Selector(kind, key)
}
