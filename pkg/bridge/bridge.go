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

// ErrHostReplaced is returned, wrapped, if a host object is not found and another
// cluster answers than at the start, or one that lost its data: the UID of its
// kube-system namespace differs. What it does not find is not gone.
var ErrHostReplaced = syncer.ErrHostReplaced

// A Bridge is an ExternalConnecter to the host cluster of a syncer. Make one with New.
// It may be used concurrently.
type Bridge struct {
	reg    *synccontext.RegisterContext
	syncer syncer.Syncer
	live   client.Reader // asks the host's API server
	ready  func(pObj client.Object) commonv1.Condition

	witness *syncer.HostWitness
}

var _ managed.ExternalConnecter = &Bridge{}

// An Option of a Bridge.
type Option func(*Bridge)

// WithReadiness says whether a host object is ready, as a condition of type Ready. It
// must not change the object. Default: what the Ready condition of the host object
// says, or that it is, if there is none.
func WithReadiness(ready func(pObj client.Object) commonv1.Condition) Option {
	return func(b *Bridge) { b.ready = ready }
}

// New returns a Bridge over which the syncer carries objects of the virtual cluster of
// the context, where the managed resources are, to its physical cluster. It asks the
// host who it is, for which it may get the namespace kube-system there.
//
// The syncer sees the managed resource under its external name, which is its own name
// unless its user chose another one, and without the annotations that are for the
// reconciler. Of this virtual object, the syncer may write the status alone; it is taken over into
// the managed resource. A syncer that is a Starter is refused: a pass that is skipped
// has no counterpart. When its results say to look again does not matter: objects are
// looked at when their poll interval has passed.
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
	b.witness, err = syncer.NewHostWitness(ctx, reg)
	return b, errors.Wrapf(err, "cannot bridge syncer %q to its host", s.Name())
}

// Options are what a reconciler needs to know of the Bridge: that it connects, that
// names are ours, and that what is written is found at once.
func (b *Bridge) Options() []managed.ReconcilerOption {
	return []managed.ReconcilerOption{
		managed.WithExternalConnecter(b),
		managed.WithDeterministicExternalName(true),
		managed.WithCreationGracePeriod(0),
	}
}

// Setup does what managed.Setup does, with the Options of the Bridge, and before that
// calls the syncer as its Runner would: as an Initializer and an IndicesRegisterer. The
// manager is the virtual one and must not be started yet.
func (b *Bridge) Setup(m manager.Manager, of resource.ManagedKind, o controller.Options, ro ...managed.ReconcilerOption) error {
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

// Connect returns a client for one pass. It sends nothing.
func (b *Bridge) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return &carrier{Bridge: b}, nil
}

// read returns the host object of a virtual one, or nil if there surely is none: that
// is confirmed by a second look, between two questions who answers.
func (b *Bridge) read(ctx context.Context, v client.Object) (client.Object, error) {
	name := b.syncer.VirtualToPhysical(client.ObjectKeyFromObject(v), v)
	if name.Name == "" {
		return nil, errors.New("cannot tell the name of the host object")
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
	err = b.witness.Gone(ctx, b.syncer.Resource(), name)
	return nil, errors.Wrap(err, "cannot confirm that there is no host object")
}

// readiness takes over what the host object says of itself.
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
