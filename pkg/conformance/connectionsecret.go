package conformance

import (
	"context"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/connsecret"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// connectionSecrets has the connection Secrets of a suite.
type connectionSecrets struct {
	reader        *currentReader
	direct        *directPublisher
	publishedKeys []string // of the Secret with the most keys
}

// newConnectionSecrets returns connectionSecrets for direct calls.
func newConnectionSecrets(kind resource.ManagedKind, scheme *runtime.Scheme) connectionSecrets {
	direct := newDirectPublisher(kind, scheme)

	return connectionSecrets{reader: &currentReader{current: direct.client}, direct: direct}
}

// A currentReader reads from the API server of the schedule that runs. During direct calls it reads the Secrets that
// the suite has published. It may be used concurrently.
type currentReader struct {
	mu      sync.Mutex
	current ctrlclient.Reader
}

// use makes a reader the current one.
func (r *currentReader) use(current ctrlclient.Reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = current
}

// reader returns the current reader.
func (r *currentReader) reader() ctrlclient.Reader {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.current
}

// Get reads an object.
func (r *currentReader) Get(
	ctx context.Context, key ctrlclient.ObjectKey, o ctrlclient.Object, opts ...ctrlclient.GetOption,
) error {
	return r.reader().Get(ctx, key, o, opts...)
}

// List lists objects.
func (r *currentReader) List(ctx context.Context, l ctrlclient.ObjectList, opts ...ctrlclient.ListOption) error {
	return r.reader().List(ctx, l, opts...)
}

// A directPublisher publishes connection details for direct calls of the client, which no reconciler makes.
type directPublisher struct {
	kind   resource.ManagedKind
	client ctrlclient.Client
	serves bool // Secrets
}

// newDirectPublisher returns a publisher with an empty API server.
func newDirectPublisher(kind resource.ManagedKind, scheme *runtime.Scheme) *directPublisher {
	return &directPublisher{
		kind: kind, client: apiserver.New(scheme, clock.RealClock{}).Client(),
		serves: scheme.Recognizes(corev1.SchemeGroupVersion.WithKind("Secret")),
	}
}

// publish writes what Observe has returned to the Secret of the object, as the reconciler does. If the Secret belongs
// to an earlier object of the same name, publish first does the work of the garbage collector.
func (p *directPublisher) publish(mg resource.Managed, o managed.ExternalObservation) error {
	name := secretOf(mg)
	if !p.serves || name == "" || len(o.ConnectionDetails) == 0 || !o.ResourceExists || o.Owner == managed.OwnerOther ||
		meta.WasDeleted(mg) {
		return nil
	}
	ctx, secret := context.Background(), &corev1.Secret{}
	err := p.client.Get(ctx, ctrlclient.ObjectKey{Namespace: mg.GetNamespace(), Name: name}, secret)
	controller := metav1.GetControllerOf(secret)
	switch {
	case err == nil && metav1.IsControlledBy(secret, mg):
		changes, _ := connsecret.Changes(secret.Data, o.ConnectionDetails)
		if len(changes) == 0 {
			return nil
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		maps.Copy(secret.Data, changes)

		return p.client.Update(ctx, secret)
	case err == nil && (controller == nil || controller.Name != mg.GetName()):
		return nil // it belongs to another owner
	case err == nil:
		if err := p.client.Delete(ctx, secret); err != nil {
			return err
		}
	case !gone.Answered(err, name):
		return err
	}
	secret = controlledSecret(p.kind, mg)
	secret.Data, _ = connsecret.Changes(nil, o.ConnectionDetails)

	return p.client.Create(ctx, secret)
}

// controlledSecret returns the Secret that an object names, without data. The object is its controller.
func controlledSecret(kind resource.ManagedKind, mg resource.Managed) *corev1.Secret {
	owner := metav1.NewControllerRef(mg, schema.GroupVersionKind(kind))
	owner.BlockOwnerDeletion = nil

	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: mg.GetNamespace(), Name: secretOf(mg), OwnerReferences: []metav1.OwnerReference{*owner},
	}}
}

// secretOf returns the name of the connection Secret that an object names, or "".
func secretOf(mg resource.Managed) string {
	w, ok := mg.(resource.ConnectionSecretWriterTo)
	if !ok || w.GetWriteConnectionSecretToReference() == nil {
		return ""
	}

	return w.GetWriteConnectionSecretToReference().Name
}

// readSecret returns the connection Secret of an object, or nil if there is none.
func (k *runner) readSecret(mg resource.Managed) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	key := ctrlclient.ObjectKey{Namespace: mg.GetNamespace(), Name: secretOf(mg)}
	err := k.reader.Get(context.Background(), key, secret)
	if gone.Answered(err, key.Name) {
		return nil, nil
	}

	return secret, errors.Wrap(err, "cannot read the connection Secret")
}
