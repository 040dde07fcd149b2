package bridge

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// ErrHostReplaced is returned, wrapped, if a host object is not found and the UID of the host's kube-system namespace
// is not the UID at the start. The cause is that another cluster responds at the address of the host, or that the host
// lost its data. The host object does not count as gone.
var ErrHostReplaced = syncer.ErrHostReplaced

// A Bridge connects the managed reconciler to the host cluster of a syncer. It is a
// managed.ExternalConnecter. Create it with New. It is safe for concurrent use.
type Bridge struct {
	reg    *synccontext.RegisterContext
	syncer syncer.Syncer
	live   client.Reader // reads from the host's API server
	ready  func(pObj client.Object) commonv1.Condition

	hostIdentity *syncer.HostIdentity
}

var _ managed.ExternalConnecter = &Bridge{}

// An Option configures a Bridge.
type Option func(*Bridge)

// WithReadiness sets the function that returns the Ready condition for a host object. The function must not change the
// object. By default a managed resource is ready if the Ready condition of its host object is true, or if the host
// object has no Ready condition. While the host object is being deleted, the managed resource is not ready.
func WithReadiness(ready func(pObj client.Object) commonv1.Condition) Option {
	return func(b *Bridge) { b.ready = ready }
}

// New returns a Bridge that synchronizes managed resources in a virtual cluster to the host. The argument reg contains
// both clusters. New reads the identity of the host; the process needs the permission to get the namespace kube-system
// on the host. New returns an error if the syncer is a Starter or a StarterV2, because the reconciler cannot skip a
// pass for such a syncer.
//
// The Bridge passes a copy of the managed resource to the syncer. The name of the copy is the external name, which is
// the name of the managed resource unless the user chose another one. The copy does not have the annotations for the
// reconciler. The syncer may write only the status of the copy. The Bridge copies this status into the managed
// resource.
//
// RequeueAfter in results of the syncer is ignored. Host objects are observed once per poll
// interval.
func New(ctx context.Context, reg *synccontext.RegisterContext, s syncer.Syncer, options ...Option) (*Bridge, error) {
	_, starts := syncer.As[syncer.Starter](s)
	_, startsV2 := syncer.As[syncer.StarterV2](s)
	if starts || startsV2 {
		return nil, errors.Errorf("cannot bridge syncer %q: it is a Starter", s.Name())
	}
	b := &Bridge{reg: reg, syncer: s, live: reg.PhysicalManager.GetAPIReader(), ready: readiness}
	for _, o := range options {
		o(b)
	}
	var err error
	b.hostIdentity, err = syncer.NewHostIdentity(ctx, reg)
	return b, errors.Wrapf(err, "cannot bridge syncer %q to its host", s.Name())
}

// Options returns the reconciler options for the Bridge. The options set the Bridge as the external connecter, and
// enable deterministic external names. The options also set the creation grace period to zero, because a created host
// object is found at once.
func (b *Bridge) Options() []managed.ReconcilerOption {
	return []managed.ReconcilerOption{
		managed.WithExternalConnecter(b),
		managed.WithDeterministicExternalName(true),
		managed.WithCreationGracePeriod(0),
	}
}

// Setup calls managed.Setup with the Options of the Bridge, followed by the options in the argument ro. Before the call
// of managed.Setup, it calls the Initializer and the IndicesRegisterer of the syncer, as a Runner does. The argument m
// must be the manager of the virtual cluster, and must not have been started.
func (b *Bridge) Setup(
	m manager.Manager, of resource.ManagedKind, o controller.Options, ro ...managed.ReconcilerOption,
) error {
	if i, ok := syncer.As[syncer.Initializer](b.syncer); ok {
		if err := i.Init(b.reg); err != nil {
			return errors.Wrapf(err, "cannot initialize %q", b.syncer.Name())
		}
	}
	if i, ok := syncer.As[syncer.IndicesRegisterer](b.syncer); ok {
		if err := i.RegisterIndices(b.reg); err != nil {
			return errors.Wrapf(err, "cannot register the indices of %q", b.syncer.Name())
		}
	}
	return managed.Setup(m, of, o, append(b.Options(), ro...)...)
}

// Connect returns an external client for one pass. It sends no request.
func (b *Bridge) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return &externalClient{Bridge: b}, nil
}

// read returns the host object of a virtual object, or nil if there is none. If the host object is
// not found, read confirms this with a second read. It verifies the identity of the host before and
// after the second read.
func (b *Bridge) read(ctx context.Context, v client.Object) (client.Object, error) {
	name := b.syncer.VirtualToPhysical(client.ObjectKeyFromObject(v), v)
	if name.Name == "" {
		return nil, errors.New("the syncer returned no name for the host object")
	}
	pObj := b.syncer.Resource()
	err := b.live.Get(ctx, name, pObj)
	switch {
	case err == nil:
		return pObj, nil
	case !gone.Answered(err, name.Name):
		return nil, errors.Wrap(err, "cannot read the host object")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	err = b.hostIdentity.Gone(ctx, b.syncer.Resource(), name)
	return nil, errors.Wrap(err, "cannot confirm that there is no host object")
}

// readiness returns the Ready condition of a host object. If the host object has no Ready
// condition, the result is true. If it is being deleted, the result is false.
func readiness(pObj client.Object) commonv1.Condition {
	if pObj.GetDeletionTimestamp() != nil {
		return commonv1.Unavailable().WithMessage("the host object is being deleted")
	}
	c := conditionsOf(pObj)[commonv1.TypeReady]
	switch {
	case c == nil || c.Status == metav1.ConditionTrue:
		return commonv1.Available()
	default:
		return commonv1.Unavailable().WithMessage(string(c.Reason) + ": " + c.Message)
	}
}
