// Package resources writes Secrets and ConfigMaps that a service provider copies to the clusters
// of an object, such as pull secrets and certificates. The names are those that services were
// written for. Begin with NewSecretMutator and CreateOrUpdateResource.
//
// No error of the package says what the data are.
package resources

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A Mutator makes an object what it is to be. One may be used concurrently once its metadata
// are set.
type Mutator[K client.Object] interface {
	// Empty returns a new object of the name, without data.
	Empty() K
	// Mutate changes an object that was read, or is new. What it does not know stays.
	Mutate(object K) error
	// String tells kind, namespace and name.
	String() string
	// MetadataMutator returns what sets labels and annotations.
	MetadataMutator() MetadataMutator
}

// A MetadataMutator sets labels and annotations. Others that the object has stay.
type MetadataMutator interface {
	// WithLabels says which labels, instead of those before.
	WithLabels(labels map[string]string) MetadataMutator
	// WithAnnotations says which annotations, instead of those before.
	WithAnnotations(annotations map[string]string) MetadataMutator
	// Mutate sets them.
	Mutate(object client.Object) error
}

// NewMetadataMutator returns one that sets nothing yet.
func NewMetadataMutator() MetadataMutator { return &metadata{} }

type metadata struct{ labels, annotations map[string]string }

func (m *metadata) WithLabels(labels map[string]string) MetadataMutator {
	m.labels = labels

	return m
}

func (m *metadata) WithAnnotations(annotations map[string]string) MetadataMutator {
	m.annotations = annotations

	return m
}

func (m *metadata) Mutate(object client.Object) error {
	if len(m.labels) > 0 {
		object.SetLabels(merged(object.GetLabels(), m.labels))
	}
	if len(m.annotations) > 0 {
		object.SetAnnotations(merged(object.GetAnnotations(), m.annotations))
	}

	return nil
}

func merged(there, wanted map[string]string) map[string]string {
	all := maps.Clone(wanted)
	for key, value := range there {
		if _, ok := all[key]; !ok {
			all[key] = value
		}
	}

	return all
}

// NewSecretMutator returns a Mutator of a Secret that has these data and no others. Nil data are
// none that are set: those of the Secret stay. The type is set when the Secret is created, and
// cannot be changed later.
func NewSecretMutator(name, namespace string, data map[string][]byte, secretType corev1.SecretType) Mutator[*corev1.Secret] {
	return &mutator[*corev1.Secret]{
		metadata: &metadata{}, what: "Secret " + namespace + "/" + name,
		empty: func() *corev1.Secret {
			return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		},
		mutate: func(s *corev1.Secret) {
			if s.UID == "" {
				s.Type = secretType
			}
			if data != nil {
				s.Data = maps.Clone(data)
			}
		},
	}
}

// NewConfigMapMutator returns a Mutator of a ConfigMap that has these data and no others. Nil
// data are none that are set: those of the ConfigMap stay.
func NewConfigMapMutator(name, namespace string, data map[string]string) Mutator[*corev1.ConfigMap] {
	return &mutator[*corev1.ConfigMap]{
		metadata: &metadata{}, what: "ConfigMap " + namespace + "/" + name,
		empty: func() *corev1.ConfigMap {
			return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		},
		mutate: func(m *corev1.ConfigMap) {
			if data != nil {
				m.Data = maps.Clone(data)
			}
		},
	}
}

type mutator[K client.Object] struct {
	metadata *metadata
	what     string
	empty    func() K
	mutate   func(K)
}

func (m *mutator[K]) Empty() K { return m.empty() }

func (m *mutator[K]) String() string { return m.what }

func (m *mutator[K]) MetadataMutator() MetadataMutator { return m.metadata }

func (m *mutator[K]) Mutate(object K) error {
	m.mutate(object)

	return m.metadata.Mutate(object)
}

// GetResource reads the object of a mutator.
func GetResource[K client.Object](ctx context.Context, c client.Client, m Mutator[K]) (K, error) {
	object := m.Empty()
	err := c.Get(ctx, client.ObjectKeyFromObject(object), object)

	return object, errors.Wrapf(err, "cannot get %s", m)
}

// CreateOrUpdateResource makes the object of a mutator what it is to be. If it is that already,
// nothing is written. What changes is sent as a patch, so that what others have written meanwhile
// stays.
func CreateOrUpdateResource[K client.Object](ctx context.Context, c client.Client, m Mutator[K]) error {
	object := m.Empty()
	_, err := controllerutil.CreateOrPatch(ctx, c, object, func() error { return m.Mutate(object) })

	return errors.Wrapf(err, "cannot create or update %s", m)
}

// DeleteResource deletes the object of a mutator. That there is none is no error.
func DeleteResource[K client.Object](ctx context.Context, c client.Client, m Mutator[K]) error {
	return errors.Wrapf(resource.IgnoreNotFound(c.Delete(ctx, m.Empty())), "cannot delete %s", m)
}
