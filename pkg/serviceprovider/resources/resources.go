// Package resources writes Secrets and ConfigMaps, such as pull secrets and certificates, that a service provider
// copies to the clusters of an object. It has the names of an earlier library for services. Start with NewSecretMutator
// and CreateOrUpdateResource.
//
// The errors of this package contain no data of the objects.
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

// A Mutator sets the desired content of an object. Call the setters of its MetadataMutator before the first use: from
// then on, a Mutator is safe for concurrent use.
type Mutator[K client.Object] interface {
	// Empty returns a new object that has the name and namespace, and no data.
	Empty() K
	// Mutate sets the desired content in a new or existing object. It does not change other fields.
	Mutate(object K) error
	// String returns the kind, namespace and name of the object.
	String() string
	// MetadataMutator returns the MetadataMutator that sets the labels and annotations of the object.
	MetadataMutator() MetadataMutator
}

// A MetadataMutator sets labels and annotations. It does not change other labels and annotations of the object.
type MetadataMutator interface {
	// WithLabels replaces the labels that Mutate sets.
	WithLabels(labels map[string]string) MetadataMutator
	// WithAnnotations replaces the annotations that Mutate sets.
	WithAnnotations(annotations map[string]string) MetadataMutator
	// Mutate sets the labels and annotations of the object.
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

// NewSecretMutator returns a Mutator that replaces all data of a Secret. If data is nil, the Mutator does not change
// the data of the Secret. The Mutator sets the type only for a new Secret, because the type cannot be changed later.
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

// NewConfigMapMutator returns a Mutator that replaces all data of a ConfigMap. If data is nil, the Mutator does not
// change the data of the ConfigMap.
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

// CreateOrUpdateResource creates or updates the object of a mutator. If the object already has the desired content,
// nothing is written. Changes are sent as a patch, so fields that other clients have changed are not overwritten.
func CreateOrUpdateResource[K client.Object](ctx context.Context, c client.Client, m Mutator[K]) error {
	object := m.Empty()
	_, err := controllerutil.CreateOrPatch(ctx, c, object, func() error { return m.Mutate(object) })

	return errors.Wrapf(err, "cannot create or update %s", m)
}

// DeleteResource deletes the object of a mutator. It returns no error if the object does not exist.
func DeleteResource[K client.Object](ctx context.Context, c client.Client, m Mutator[K]) error {
	return errors.Wrapf(resource.IgnoreNotFound(c.Delete(ctx, m.Empty())), "cannot delete %s", m)
}
