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

// DefaultMarkPrefix is the domain of the labels and annotations that say whose an
// object in Kubernetes is.
const DefaultMarkPrefix = "kumori"

// Annotations that say of which life of the store an owner was, and how far that
// had gone. See store.State.
const (
	AnnotationKeyOwnerEpoch    = "moorage.dev/owner-epoch"
	AnnotationKeyOwnerRevision = "moorage.dev/owner-revision"
)

// Marks say on an object in Kubernetes which primary it was made for: kind and key
// stand in annotations, and in labels, to select by. A label cannot hold every key;
// one that does not fit is there as its hash. The zero value is usable.
type Marks struct {
	// Prefix of the labels and annotations. The default is DefaultMarkPrefix.
	Prefix string
}

// KindKey and KeyKey return the keys of the marks.
func (m Marks) KindKey() string { return m.prefix() + "/ownerkind" }

// KeyKey is the key of the label and of the annotation with the owner's key.
func (m Marks) KeyKey() string { return m.prefix() + "/ownerkey" }

func (m Marks) prefix() string {
	if m.Prefix == "" {
		return DefaultMarkPrefix
	}

	return m.Prefix
}

// Set marks the object.
func (m Marks) Set(obj metav1.Object, owner store.Owner) {
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
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

// Owner returns the owner that the object is marked with; its kind is empty if
// there is none. An error says that a mark is half.
func (m Marks) Owner(obj metav1.Object) (store.Owner, error) {
	owner := store.Owner{Kind: either(obj, m.KindKey()), Key: either(obj, m.KeyKey())}
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

// Selector selects what is marked with the primary. An empty key selects what is
// marked with any of the kind.
func (m Marks) Selector(kind, key string) labels.Selector {
	set := labels.Set{m.KindKey(): labelValue(kind)}
	if key != "" {
		set[m.KeyKey()] = labelValue(key)
	}

	return labels.SelectorFromSet(set)
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
// and key is known. A Controller's own SetOwner says more, which the garbage
// collector needs, and any pass that has to tell a primary that was lost with its
// store from one that was deleted.
func SetOwner(obj metav1.Object, kind, key string) {
	Marks{}.Set(obj, store.Owner{Kind: kind, Key: key})
}

// OwnerSelector selects what SetOwner has marked.
func OwnerSelector(kind, key string) labels.Selector { return Marks{}.Selector(kind, key) }
