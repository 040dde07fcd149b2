package xp

import (
	"bytes"
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// SecretType is that of the connection secrets of crossplane-runtime. The type of a Secret
// cannot be changed, and tools look for it.
const SecretType corev1.SecretType = "connection.crossplane.io/v1alpha1"

// A SecretPublisher writes connection details to the Secret that a cluster-scoped object
// names, in whatever namespace that is. The Secret is owned by the object; one of somebody
// else's is left alone. Keys that are there and are not told stay.
type SecretPublisher struct {
	client client.Client
	reader client.Reader
	of     resource.ManagedKind
}

// NewSecretPublisher returns a publisher. The reader should be a live one, such as
// GetAPIReader of a manager: a cached one would watch every Secret of the cluster.
func NewSecretPublisher(c client.Client, live client.Reader, of resource.ManagedKind) *SecretPublisher {
	return &SecretPublisher{client: c, reader: live, of: of}
}

// PublishConnection creates the Secret, or changes the keys that differ. An object that names
// none publishes nothing. It is terminal that the Secret belongs to somebody else.
func (p *SecretPublisher) PublishConnection(ctx context.Context, mg resource.Managed, details managed.ConnectionDetails) (bool, error) {
	writer, ok := mg.(SecretWriterTo)
	if !ok || writer.GetWriteConnectionSecretToReference() == nil {
		return false, nil
	}

	ref := writer.GetWriteConnectionSecretToReference()
	owner := metav1.OwnerReference{Name: mg.GetName(), UID: mg.GetUID(), Controller: new(true)}
	owner.APIVersion, owner.Kind = schema.GroupVersionKind(p.of).ToAPIVersionAndKind()

	secret := &corev1.Secret{}

	err := p.reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret)
	if gone.Answered(err, ref.Name) {
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, OwnerReferences: []metav1.OwnerReference{owner}},
			Type:       SecretType, Data: details,
		}
		err = p.client.Create(ctx, secret)

		return err == nil, errors.Wrap(err, "cannot create connection secret")
	}

	if err != nil {
		return false, errors.Wrap(err, "cannot get connection secret")
	}

	if !metav1.IsControlledBy(secret, mg) {
		return false, external.Terminal(string(commonv1.ReasonConnectionSecretNotOwned), errors.Errorf(
			"secret %s exists and does not belong to this object: name another in spec.writeConnectionSecretToRef, or delete that one", ref.Name))
	}

	return p.change(ctx, secret, details)
}

// change patches the keys that differ, unless the Secret is another by now.
func (p *SecretPublisher) change(ctx context.Context, secret *corev1.Secret, details managed.ConnectionDetails) (bool, error) {
	before := client.MergeFromWithOptions(secret.DeepCopy(), client.MergeFromWithOptimisticLock{})
	changed := false

	for key, value := range details {
		if have, ok := secret.Data[key]; ok && bytes.Equal(have, value) {
			continue
		}

		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}

		secret.Data[key], changed = value, true
	}

	if !changed {
		return false, nil
	}

	return true, errors.Wrap(p.client.Patch(ctx, secret, before), "cannot change connection secret")
}
