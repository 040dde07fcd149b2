package managed

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
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

// A Referencer is a managed resource that resolves its references itself, through the given reader. The objects
// that it reads are watched, so that it is called again when a referent changes. Package reference has the tools.
type Referencer interface {
	ResolveReferences(ctx context.Context, r client.Reader) error
}

// WithReferenceResolver sets the resolver for the references of an object that is not being deleted. It is called
// after the initializers. The default calls objects that are a [Referencer]. Changes are stored as those of an
// [Initializer] are.
//
// An error for which reference.IsWaiting or reference.IsRefused is true is reported, and not retried before
// something changes. Other errors are retried.
func WithReferenceResolver(rr ReferenceResolver) ReconcilerOption {
	return func(r *Reconciler) { r.resolver = rr }
}

// WithReferenceGraph shares the graph of waiting objects with other reconcilers, so that cycles through several
// kinds are found. The default is to find cycles within the kind.
func WithReferenceGraph(g *reference.Graph) ReconcilerOption {
	return func(r *Reconciler) { r.graph = g }
}

// References returns the source of events of referenced objects, which the controller of this reconciler needs
// besides its own kind. [Setup] adds it. Without it an object that waits for a referent polls.
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

// settle makes an error terminal that a retry cannot resolve.
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

// ResolveReferences calls the function.
func (fn ReferenceResolverFn) ResolveReferences(ctx context.Context, mg resource.Managed) error {
	return fn(ctx, mg)
}
