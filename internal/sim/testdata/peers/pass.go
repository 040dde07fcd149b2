package peers

import (
	"context"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A pass is one reconcile of one object.
type pass struct {
	*reconciler

	mg         resource.Managed
	generation int64           // of mg as it was read
	outside    context.Context //nolint:containedctx // it is one of the two of a pass
	external   managed.ExternalClient
}

// ErrIncomplete is what is said of a create whose result is not known.
var errIncomplete = errors.New("cannot determine creation result - remove the " +
	meta.AnnotationKeyExternalCreatePending + " annotation if it is safe to proceed")

func (p *pass) run(ctx context.Context) (reconcile.Result, error) {
	if meta.IsPaused(p.mg) {
		return p.say(ctx, reconcile.Result{}, commonv1.ReconcilePaused())
	}
	if meta.WasDeleted(p.mg) && !meta.ShouldDelete(p.mg) {
		return reconcile.Result{}, p.letGo(ctx)
	}
	if err := p.name(ctx); err != nil {
		return p.fail(ctx, err)
	}
	// Times of one second, of whatever clocks, decide this; and nobody is asked
	// again.
	if meta.ExternalCreateIncomplete(p.mg) && !(p.Named && p.protocol.repeatsNamed) {
		return p.say(ctx, reconcile.Result{}, commonv1.Creating(), commonv1.ReconcileError(errIncomplete))
	}
	var err error
	if p.external, err = p.Connecter.Connect(p.outside, p.mg); err != nil {
		return p.fail(ctx, err)
	}
	o, err := p.external.Observe(p.outside, p.mg)
	switch {
	case err != nil:
		return p.fail(ctx, err)
	case !o.ResourceExists && p.createdLately():
		return backOff, nil
	case meta.WasDeleted(p.mg):
		return p.depart(ctx, o.ResourceExists)
	default:
		return p.live(ctx, o)
	}
}

// Live makes what is wanted.
func (p *pass) live(ctx context.Context, o managed.ExternalObservation) (reconcile.Result, error) {
	if !meta.FinalizerExists(p.mg, managed.FinalizerName) {
		meta.AddFinalizer(p.mg, managed.FinalizerName)
		if err := p.Client.Update(ctx, p.mg); err != nil {
			return p.fail(ctx, err)
		}
	}
	switch {
	case !o.ResourceExists:
		return p.create(ctx)
	case !o.ResourceUpToDate:
		if err := p.external.Update(p.outside, p.mg); err != nil {
			return p.fail(ctx, err)
		}
	}

	return p.say(ctx, reconcile.Result{RequeueAfter: pollInterval}, commonv1.ReconcileSuccess())
}

// Depart takes away what is not wanted any more. The first answer that there is
// nothing is believed.
func (p *pass) depart(ctx context.Context, exists bool) (reconcile.Result, error) {
	if !exists {
		return reconcile.Result{}, p.letGo(ctx)
	}
	if err := p.external.Delete(p.outside, p.mg); err != nil {
		return p.fail(ctx, err, commonv1.Deleting())
	}

	return p.say(ctx, backOff, commonv1.Deleting(), commonv1.ReconcileSuccess())
}

func (p *pass) letGo(ctx context.Context) error {
	if !meta.FinalizerExists(p.mg, managed.FinalizerName) {
		return nil
	}
	meta.RemoveFinalizer(p.mg, managed.FinalizerName)

	return client.IgnoreNotFound(p.Client.Update(ctx, p.mg))
}

// Name gives the object the name of its external resource, where we choose it.
func (p *pass) name(ctx context.Context) error {
	if !p.Named || meta.GetExternalName(p.mg) != "" {
		return nil
	}
	meta.SetExternalName(p.mg, p.mg.GetName())
	if !p.protocol.storesName {
		return nil // it goes with the next write
	}

	return p.Client.Update(ctx, p.mg)
}

// CreatedLately compares a time that was stored with the clock of this process.
func (p *pass) createdLately() bool {
	at := meta.GetExternalCreateSucceeded(p.mg)

	return !at.IsZero() && p.Clock.Now().Sub(at) < grace
}

// Create the external resource, between a mark that it is pending, whose write fails
// on a stale read, and one of how it ended. Any error counts as a failure, after which
// a create is tried again; and all is done under the context that a shutdown cancels.
func (p *pass) create(ctx context.Context) (reconcile.Result, error) {
	meta.SetExternalCreatePending(p.mg, p.Clock.Now())
	if err := p.Client.Update(ctx, p.mg); err != nil {
		return p.fail(ctx, err, commonv1.Creating())
	}
	if err := p.external.Create(p.outside, p.mg); err != nil {
		if kerrors.IsConflict(err) && !p.protocol.marksConflict {
			return backOff, nil
		}
		meta.SetExternalCreateFailed(p.mg, p.Clock.Now())
		_ = p.storeCritical(ctx) // it is told in an event, and no more

		return p.fail(ctx, err, commonv1.Creating())
	}
	meta.SetExternalCreateSucceeded(p.mg, p.Clock.Now())
	if err := p.storeCritical(ctx); err != nil {
		return p.fail(ctx, err, commonv1.Creating())
	}

	return p.say(ctx, backOff, commonv1.Creating(), commonv1.ReconcileSuccess())
}

// StoreCritical stores the annotations, in five tries of which the last begins 40 ms
// after the first.
func (p *pass) storeCritical(ctx context.Context) error {
	var err error
	for try := range tries {
		if try > 0 {
			<-time.After(pause)
		}
		if err = p.protocol.store(ctx, p.Client, p.mg, err); err == nil || !p.protocol.again(err) {
			return err
		}
	}

	return err
}

// Fail tells of an error and comes again with back-off.
func (p *pass) fail(ctx context.Context, err error, c ...commonv1.Condition) (reconcile.Result, error) {
	if kerrors.IsConflict(err) {
		return reconcile.Result{}, err
	}
	if _, werr := p.say(ctx, backOff, append(c, commonv1.ReconcileError(err))...); werr != nil {
		return reconcile.Result{}, werr
	}

	return backOff, nil
}

// Say puts conditions into the status, which is written whether it changed or not.
func (p *pass) say(ctx context.Context, r reconcile.Result, c ...commonv1.Condition) (reconcile.Result, error) {
	p.mg.SetConditions(c...)
	if o, ok := p.mg.(resource.GenerationObserver); ok {
		o.SetObservedGeneration(p.generation)
	}

	return r, p.Client.Status().Update(ctx, p.mg)
}
