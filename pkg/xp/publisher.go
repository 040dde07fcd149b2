package xp

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/connsecret"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// SecretType is the type of the connection Secrets of crossplane-runtime. The type of a Secret is immutable, and
// tools select Secrets by their type.
const SecretType corev1.SecretType = "connection.crossplane.io/v1alpha1"

// A SecretPublisher writes connection details to the Secret that a cluster-scoped object names, in any namespace. It
// is a managed.ConnectionPreparer. The object owns the Secret. A Secret of another owner is not changed. Keys of the
// Secret that are not published stay unchanged.
type SecretPublisher struct {
	client client.Client
	reader client.Reader
	of     resource.ManagedKind
}

// NewSecretPublisher returns a publisher. The argument live should be a reader without a cache, such as the result of
// GetAPIReader of a manager. A reader with a cache would watch every Secret of the cluster.
func NewSecretPublisher(c client.Client, live client.Reader, of resource.ManagedKind) *SecretPublisher {
	return &SecretPublisher{client: c, reader: live, of: of}
}

// PublishConnection creates the Secret, or changes the keys that differ. It publishes nothing for an object that
// names no Secret. An empty value does not replace a nonempty value.
//
// If the Secret has another owner, PublishConnection returns a terminal error. It also returns an error that names
// keys that no Secret can have, and writes the other keys.
func (p *SecretPublisher) PublishConnection(ctx context.Context, mg resource.Managed,
	details managed.ConnectionDetails) (bool, error) {
	desired := p.desired(mg)
	if desired == nil {
		return false, nil
	}

	secret := &corev1.Secret{}

	err := p.reader.Get(ctx, client.ObjectKeyFromObject(desired), secret)
	if gone.Answered(err, desired.Name) {
		desired.Data = details

		return connsecret.Create(ctx, p.client, desired)
	}

	if err != nil {
		return false, errors.Wrap(err, "cannot get connection secret")
	}

	if err := owned(secret, mg); err != nil {
		return false, err
	}

	return p.change(ctx, secret, details)
}

// Publishes reports whether an object names a Secret. If an object no longer names one, the reconciler keeps the
// details that Create returned until the object names another Secret.
func (p *SecretPublisher) Publishes(mg resource.Managed) bool {
	writer, ok := mg.(SecretWriterTo)

	return ok && writer.GetWriteConnectionSecretToReference() != nil
}

// PrepareConnection returns an error if the Secret cannot be written, or belongs to another owner. A Secret that does
// not exist is no error. PrepareConnection reads the Secret, and sends its creation or change as a dry run.
func (p *SecretPublisher) PrepareConnection(ctx context.Context, mg resource.Managed) error {
	desired := p.desired(mg)
	if desired == nil {
		return nil
	}

	return connsecret.Prepare(ctx, p.client, p.reader, desired,
		func(current *corev1.Secret) error { return owned(current, mg) })
}

// desired returns the Secret that an object names, without data, or nil.
func (p *SecretPublisher) desired(mg resource.Managed) *corev1.Secret {
	if !p.Publishes(mg) {
		return nil
	}

	ref := mg.(SecretWriterTo).GetWriteConnectionSecretToReference() // Publishes has checked the type.
	owner := metav1.OwnerReference{Name: mg.GetName(), UID: mg.GetUID(), Controller: new(true)}
	owner.APIVersion, owner.Kind = schema.GroupVersionKind(p.of).ToAPIVersionAndKind()

	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ref.Namespace, Name: ref.Name,
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Type: SecretType,
	}
}

// owned returns a terminal error if a Secret is not the object's.
func owned(secret *corev1.Secret, mg resource.Managed) error {
	if metav1.IsControlledBy(secret, mg) {
		return nil
	}

	return external.Terminal(string(commonv1.ReasonConnectionSecretNotOwned), errors.Errorf(
		"secret %s exists and does not belong to this object: name another in spec.writeConnectionSecretToRef, or "+
			"delete that one", secret.GetName()))
}

// change patches the keys that differ, unless the Secret was replaced.
func (p *SecretPublisher) change(ctx context.Context, secret *corev1.Secret,
	details managed.ConnectionDetails) (bool, error) {
	differing, unheld := connsecret.Changes(secret.Data, details)
	if len(differing) == 0 {
		return false, unheld
	}

	if err := connsecret.Immutable(secret); err != nil {
		return false, err
	}

	before := client.MergeFromWithOptions(secret.DeepCopy(), client.MergeFromWithOptimisticLock{})

	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}

	maps.Copy(secret.Data, differing)

	if err := p.client.Patch(ctx, secret, before); err != nil {
		return false, errors.Wrap(err, "cannot change connection secret")
	}

	return true, unheld
}
