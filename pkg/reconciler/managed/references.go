package managed

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reference"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A ReferenceResolver sets the fields of an object that refer to other objects.
type ReferenceResolver interface {
	ResolveReferences(ctx context.Context, mg resource.Managed) error
}

// A ReferenceResolverFn is a function that is a ReferenceResolver.
type ReferenceResolverFn func(ctx context.Context, mg resource.Managed) error

// A Referencer is a managed resource that resolves its references itself, with the given reader. The reconciler watches
// the objects that the method reads, and calls the method again when one of these objects changes. Package reference
// has functions for the method.
type Referencer interface {
	ResolveReferences(ctx context.Context, r client.Reader) error
}

// WithReferenceResolver sets the resolver for the references of an object that is not being deleted. The reconciler
// calls it after the initializers, and stores its changes like the changes of an [Initializer]. The default resolver
// calls ResolveReferences of an object that is a [Referencer].
//
// If reference.IsWaiting or reference.IsRefused is true for an error, the object reports it, and the reconciler does
// not retry before something changes. It retries other errors with backoff. An error for which reference.IsExpected is
// true is not a failure: its event is Normal.
func WithReferenceResolver(rr ReferenceResolver) ReconcilerOption {
	return func(r *Reconciler) { r.resolver = rr }
}

// WithReferenceGraph shares the graph of waiting objects with other reconcilers. The reconcilers then find cycles of
// references through several kinds. By default a reconciler finds cycles within its kind.
func WithReferenceGraph(g *reference.Graph) ReconcilerOption {
	return func(r *Reconciler) { r.graph = g }
}

// References returns the source of events about referenced objects. The controller of this reconciler needs this source
// in addition to the source of its own kind. [Setup] adds both. Without this source, an object that waits for a
// referenced object polls.
func (r *Reconciler) References(c cache.Cache) source.TypedSource[reconcile.Request] {
	r.watching.Store(true)

	return r.tracker.Source(c)
}

func (r *Reconciler) newTracker() *reference.Tracker {
	options := []reference.TrackerOption{reference.WithLogger(r.log)}
	if r.graph != nil {
		options = append(options, reference.WithGraph(r.graph))
	}

	return reference.NewTracker(r.cluster.GetScheme(), options...)
}

// resolve resolves the references of an object that is not being deleted.
func (p *object) resolve(ctx context.Context) error {
	if p.r.resolver != nil {
		return settle(p.r.resolver.ResolveReferences(ctx, p.mg))
	}
	object, ok := p.mg.(Referencer)
	if !ok {
		return nil
	}
	reader := p.r.tracker.Reader(types.NamespacedName{Namespace: p.mg.GetNamespace(), Name: p.mg.GetName()}, p.r.client)
	err := object.ResolveReferences(ctx, reader)
	reader.Done(err)

	return settle(err)
}

// settle makes an error terminal if a retry cannot resolve it.
func settle(err error) error {
	switch {
	case reference.IsRefused(err):
		return external.Terminal(string(commonv1.ReasonReferenceRefused), err)
	case reference.IsWaiting(err):
		return external.Terminal(string(commonv1.ReasonReferenceNotReady), err)
	default:
		return err
	}
}

// awaitingReference returns the outcome of a pass that ends because a reference waits for its referent as its author
// expects. A change of the referent causes the next pass.
func (p *clientSession) awaitingReference(err error) outcome {
	text := strings.TrimPrefix(p.redact(err).Error(), outcomes[resolving].prefix+": ")
	o := outcomes[awaitingReference]
	o.synced = unsynced(commonv1.ReasonReferenceNotReady, text)
	o.event = event.Normal(reasonWaitingForReference, text)
	if !p.r.watching.Load() {
		o.requeue = backoff
	}

	return p.reworded(o)
}

// ResolveReferences calls the function.
func (fn ReferenceResolverFn) ResolveReferences(ctx context.Context, mg resource.Managed) error {
	return fn(ctx, mg)
}
