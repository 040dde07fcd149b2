// Package resources writes Secrets and ConfigMaps that a service provider copies to the clusters of
// an object, such as pull secrets and certificates. Its names are those of an earlier library for
// services. Start with NewSecretMutator and CreateOrUpdateResource.
//
// Errors of the package contain no data of the objects.
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

// A Mutator sets the desired content of an object. It is safe for concurrent use once its metadata
// are set.
type Mutator[K client.Object] interface {
	// Empty returns a new object with the name, without data.
	Empty() K
	// Mutate modifies an existing or new object. Fields that it does not manage stay.
	Mutate(object K) error
	// String returns kind, namespace and name.
	String() string
	// MetadataMutator returns the mutator of labels and annotations.
	MetadataMutator() MetadataMutator
}

// A MetadataMutator sets labels and annotations. Other labels and annotations of the object stay.
type MetadataMutator interface {
	// WithLabels replaces the labels to set.
	WithLabels(labels map[string]string) MetadataMutator
	// WithAnnotations replaces the annotations to set.
	WithAnnotations(annotations map[string]string) MetadataMutator
	// Mutate sets them.
	Mutate(object client.Object) error
}

// NewMetadataMutator returns a MetadataMutator without labels and annotations.
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

// NewSecretMutator returns a Mutator of a Secret with exactly these data. With nil data, the data
// of the Secret stay. The type is set when the Secret is created, and cannot be changed later.
func NewSecretMutator(
	name, namespace string, data map[string][]byte, secretType corev1.SecretType,
) Mutator[*corev1.Secret] {
	return &mutator[*corev1.Secret]{
		metadata: &metadata{}, what: "Secret " + namespace + "/" + name,
		empty: func() *corev1.Secret {
			return &corev1.Secret{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			}
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

// NewConfigMapMutator returns a Mutator of a ConfigMap with exactly these data. With nil data, the
// data of the ConfigMap stay.
func NewConfigMapMutator(name, namespace string, data map[string]string) Mutator[*corev1.ConfigMap] {
	return &mutator[*corev1.ConfigMap]{
		metadata: &metadata{}, what: "ConfigMap " + namespace + "/" + name,
		empty: func() *corev1.ConfigMap {
			return &corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			}
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

// CreateOrUpdateResource creates or updates the object of a mutator. Without a difference nothing
// is written. Changes are sent as a patch, so changes of other writers stay.
func CreateOrUpdateResource[K client.Object](ctx context.Context, c client.Client, m Mutator[K]) error {
	object := m.Empty()
	_, err := controllerutil.CreateOrPatch(ctx, c, object, func() error { return m.Mutate(object) })

	return errors.Wrapf(err, "cannot create or update %s", m)
}

// DeleteResource deletes the object of a mutator. It returns no error if the object does not exist.
func DeleteResource[K client.Object](ctx context.Context, c client.Client, m Mutator[K]) error {
	return errors.Wrapf(resource.IgnoreNotFound(c.Delete(ctx, m.Empty())), "cannot delete %s", m)
}
