package managed

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/connsecret"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A ConnectionPublisher publishes the details with which users connect to an external resource. Its method must be
// idempotent, and returns whether it changed anything.
//
// The reconciler calls the publisher when the details differ from the details that were published last. The reconciler
// compares with its memory and the status of the object. After a restart it may call the publisher although nothing
// differs.
type ConnectionPublisher interface {
	PublishConnection(ctx context.Context, mg resource.Managed, details ConnectionDetails) (published bool, err error)
}

// A ConnectionPublisherFn is a function that is a ConnectionPublisher.
type ConnectionPublisherFn func(ctx context.Context, mg resource.Managed, details ConnectionDetails) (bool, error)

// PublishConnection calls the function.
func (fn ConnectionPublisherFn) PublishConnection(ctx context.Context, mg resource.Managed,
	details ConnectionDetails) (bool, error) {
	return fn(ctx, mg, details)
}

// WithConnectionPublisher sets the publisher of connection details. The reconciler calls it for every object whose
// observation has details.
//
// By default the details are written to the Secret that the object names, see resource.ConnectionSecretWriterTo. An
// object that names no Secret publishes nothing. The object owns the Secret, so the Secret is garbage collected with
// the object. A Secret of another owner is left alone. If an object was restored from a backup and took over the
// external resource of the original object, it also takes over the Secret of the original object.
func WithConnectionPublisher(c ConnectionPublisher) ReconcilerOption {
	return func(r *Reconciler) { r.publisher = c }
}

// WithConnectionSecretType sets the type of the Secrets that the default publisher of connection details creates,
// such as "connection.crossplane.io/v1alpha1". By default, and for "", the API server sets the type Opaque. A type
// for which the API server requires keys is an error, see [NewReconciler].
//
// An existing Secret keeps its type, which is immutable. The publisher updates its data nevertheless. With
// [WithConnectionPublisher] this option has no effect.
func WithConnectionSecretType(t corev1.SecretType) ReconcilerOption {
	return func(r *Reconciler) { r.secretType = t }
}

// unpublished reports whether the observed details differ from the details that were published last. After a request
// of the user the details count as unpublished once more, because the Secret may have been deleted. Otherwise the
// reconciler would notice that only by a read in every pass.
func (p *publication) unpublished() bool {
	details := p.observation.ConnectionDetails
	to := secretFor(p.mg)
	if !p.observation.ResourceExists || meta.WasDeleted(p.mg) || len(details) == 0 || to == "" && p.r.publisher == nil {
		return false
	}
	p.details = digest(to, details)
	hasher, ok := p.mg.(resource.ConnectionDetailsHasher)
	if p.state.Published != p.details {
		return !ok || p.state.Published != none || p.requested != "" ||
			!p.publishedAs(hasher.GetConnectionDetailsHash())
	}
	if ok { // again, if its record was lost
		hasher.SetConnectionDetailsHash(p.state.PublishedAs)
	}

	return p.requested != "" && !p.detailsPublished
}

var none [sha256.Size]byte

// digest returns the digest of connection details and their destination.
func digest(to string, details ConnectionDetails) [sha256.Size]byte {
	h := sha256.New()
	// Every part is preceded by its length, so that no two lists are the same.
	write := func(part []byte) {
		h.Write([]byte{byte(len(part) >> 24), byte(len(part) >> 16), byte(len(part) >> 8), byte(len(part))})
		h.Write(part)
	}
	write([]byte(to))
	for _, key := range slices.Sorted(maps.Keys(details)) {
		write([]byte(key))
		write(details[key])
	}

	return [sha256.Size]byte(h.Sum(nil))
}

// publishedAs reports whether an earlier process has published the observed details, according to their digest in
// the status.
func (p *publication) publishedAs(inStatus string) bool {
	if inStatus == "" || inStatus != p.r.objects.derived.stored(p.mg, p.details) {
		return false
	}
	p.state.Published, p.state.PublishedAs = p.details, inStatus

	return true
}

// warnOldSecret emits a warning once that the Secret of another name, which the object named before, still has the
// published details.
func (p *publication) warnOldSecret() {
	hasher, ok := p.mg.(resource.ConnectionDetailsHasher)
	if !ok {
		return
	}
	before, _, named := strings.Cut(hasher.GetConnectionDetailsHash(), "/")
	now := secretFor(p.mg)
	if !named || before == now {
		return
	}
	p.recordEvent(event.Warning(reasonOldSecret, errors.New(fmt.Sprintf(
		"Secret %s still holds the connection details that were published there before; delete it if it is not used: it "+
			"goes with this object", before))))
	if now == "" {
		hasher.SetConnectionDetailsHash("")
	}
}

// publish stores the connection details.
func (p *publication) publish(ctx context.Context) error {
	p.detailsPending = false
	var changed bool
	err := p.instrumentGuarded(ctx, telemetry.Publish, func(ctx context.Context) (err error) {
		changed, err = p.publisher(p.checkFence).PublishConnection(ctx, p.mg, p.observation.ConnectionDetails)

		return err
	})
	if err != nil {
		p.publishErr = publishing.failed(err) // reported at the end: the difference is corrected all the same

		return nil
	}
	p.r.telemetry.Wrote(telemetry.Secret, changed)
	p.state.Published, p.detailsPublished, p.publishErr = p.details, true, nil
	if hasher, ok := p.mg.(resource.ConnectionDetailsHasher); ok {
		p.state.PublishedAs = p.r.objects.derived.stored(p.mg, p.details)
		hasher.SetConnectionDetailsHash(p.state.PublishedAs)
	}

	return nil
}

// secrets publishes to the Secret that an object names.
type secrets struct {
	client     client.Client
	reader     client.Reader // without a cache, which would list all Secrets
	of         resource.ManagedKind
	secretType corev1.SecretType // of new Secrets
	stamp      Stamp             // of the object
	before     Stamp             // of the original of a restored object, or ""
	known      bool              // it was published before, so that a create would fail

	fence func(context.Context) error // whether this process is still the leader; asked before a change
}

// PublishConnection creates the Secret, or patches its differences.
func (s secrets) PublishConnection(ctx context.Context, mg resource.Managed, details ConnectionDetails) (bool, error) {
	secret, err := s.desired(mg, details)
	if err != nil {
		return false, err
	}
	if !s.known {
		if created, err := connsecret.Create(ctx, s.client, secret); !kerrors.IsAlreadyExists(err) {
			return created, err
		}
	}
	current := &corev1.Secret{}
	err = s.reader.Get(ctx, client.ObjectKeyFromObject(secret), current)
	switch {
	case gone.Answered(err, secret.Name) && s.known:
		return connsecret.Create(ctx, s.client, secret)
	case err != nil:
		return false, errors.Wrap(err, "cannot get connection secret")
	case !metav1.IsControlledBy(current, mg) && (s.before == "" || ownerOf(current) != s.before):
		return false, secretNotOwned(current, secret)
	}

	if err := s.fence(ctx); err != nil { // another process may have published other details since
		return false, err
	}

	return s.change(ctx, current, secret)
}

func (s secrets) desired(mg resource.Managed, details ConnectionDetails) (*corev1.Secret, error) {
	if mg.GetNamespace() == "" {
		return nil, external.Terminal(string(commonv1.ReasonConnectionSecretNotOwned), errors.New(
			"a cluster-scoped object has no namespace to write a connection secret to"))
	}
	// No blockOwnerDeletion: it needs a permission on finalizers of the owner.
	owner := metav1.OwnerReference{Name: mg.GetName(), UID: mg.GetUID(), Controller: new(true)}
	owner.APIVersion, owner.Kind = schema.GroupVersionKind(s.of).ToAPIVersionAndKind()

	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: mg.GetNamespace(), Name: secretFor(mg), OwnerReferences: []metav1.OwnerReference{owner},
			Annotations: map[string]string{StampKey: string(s.stamp)},
		},
		Type: s.secretType,
		Data: details,
	}, nil
}

// ownerOf returns the stamp, without a cluster, of the object to which a Secret belongs. That is the controller of
// the Secret. If a restore has dropped the owner references, ownerOf returns the stamp in the annotation.
func ownerOf(secret *corev1.Secret) Stamp {
	controller := metav1.GetControllerOf(secret)
	if controller == nil {
		return Stamp(secret.GetAnnotations()[StampKey])
	}
	of := schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind)

	return Stamp(strings.Join([]string{"", of.Group, of.Kind, secret.GetNamespace(), controller.Name,
		string(controller.UID)}, "/"))
}

// belongsToPredecessor reports whether the controller of a Secret is an earlier object with the kind and the name of
// the desired owner. The desired owner exists, so the earlier object does not.
func belongsToPredecessor(current, desired *corev1.Secret) bool {
	is, wanted := metav1.GetControllerOf(current), desired.OwnerReferences[0]
	if is == nil || is.UID == wanted.UID {
		return false
	}
	group := schema.FromAPIVersionAndKind(is.APIVersion, is.Kind).GroupKind()

	return is.Name == wanted.Name && group == schema.FromAPIVersionAndKind(wanted.APIVersion, wanted.Kind).GroupKind()
}

// secretNotOwned returns the error that a Secret does not belong to the object. If the Secret has no controller, the
// error says how to give the Secret to the object.
func secretNotOwned(current, desired *corev1.Secret) error {
	name := current.GetName()
	if belongsToPredecessor(current, desired) {
		return external.Terminal(string(commonv1.ReasonConnectionSecretNotOwned), awaitingCollection.failed(
			errors.Errorf("secret %s belongs to a deleted object that had the same name: waiting until the garbage "+
				"collector has deleted the secret; if it stays, delete it", name)))
	}
	text := fmt.Sprintf("secret %s exists and does not belong to this object: name another in "+
		"spec.writeConnectionSecretToRef, or delete that one", name)
	if metav1.GetControllerOf(current) == nil {
		owners := map[string]any{"ownerReferences": desired.GetOwnerReferences()}
		owned, err := json.Marshal(map[string]any{"metadata": owners})
		if err != nil {
			return errors.Wrap(err, "cannot encode owner references")
		}
		text += fmt.Sprintf("; if it is the connection secret of this object and was restored from a backup, keep what it "+
			"holds: kubectl patch secret %s --namespace %s --patch '%s'",
			name, current.GetNamespace(), owned)
	}

	return external.Terminal(string(commonv1.ReasonConnectionSecretNotOwned), errors.New(text))
}

// change patches the keys that differ, and the owner of the Secret. It removes no other key. It also keeps values
// that are empty in desired, because details that only a creation returns are not observed again.
func (s secrets) change(ctx context.Context, current, desired *corev1.Secret) (bool, error) {
	differing, unheld := connsecret.Changes(current.Data, desired.Data)
	metadata := map[string]any{}
	if current.Annotations[StampKey] != string(s.stamp) {
		metadata["annotations"] = desired.Annotations
	}
	ours, controller := desired.OwnerReferences[0], metav1.GetControllerOf(current)
	if controller == nil || controller.UID != ours.UID {
		others := slices.DeleteFunc(slices.Clone(current.OwnerReferences), func(o metav1.OwnerReference) bool {
			return o.UID == ours.UID || controller != nil && o.UID == controller.UID
		})
		metadata["ownerReferences"] = append(others, ours)
	}
	switch immutable := connsecret.Immutable(current); {
	case len(differing) == 0 && len(metadata) == 0:
		return false, unheld
	case len(differing) != 0 && immutable != nil:
		return false, immutable
	}
	metadata["uid"], metadata["resourceVersion"] = current.GetUID(), current.GetResourceVersion()
	data, err := json.Marshal(map[string]any{"metadata": metadata, "data": differing})
	if err != nil {
		return false, errors.Wrap(err, "cannot encode patch")
	}
	patch := client.RawPatch(types.MergePatchType, data)
	if err := s.client.Patch(ctx, current, patch); err != nil {
		return false, errors.Wrap(err, "cannot change connection secret")
	}

	return true, unheld
}

// stored returns the destination of the details, and a derived key that is safe to store in a status with many readers.
func (d *hashCache) stored(mg resource.Managed, digest [sha256.Size]byte) string {
	return storedAs(secretFor(mg), d.derive(hashInput{digest, mg.GetUID()}))
}

func storedAs(to, key string) string {
	if key == "" {
		return "" // the system rejects the parameters: the details are published again after a restart
	}

	return to + "/" + key
}

func secretFor(mg resource.Managed) string {
	writer, ok := mg.(resource.ConnectionSecretWriterTo)
	if !ok {
		return ""
	}
	if ref := writer.GetWriteConnectionSecretToReference(); ref != nil {
		return ref.Name
	}

	return ""
}

func (p *publication) publishedBefore() bool {
	hasher, ok := p.mg.(resource.ConnectionDetailsHasher)

	return p.state.Published != none || ok && hasher.GetConnectionDetailsHash() != ""
}
