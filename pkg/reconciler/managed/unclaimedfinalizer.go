package managed

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// UnclaimedFinalizer may be given to an object by whoever creates it, best by the
// API server itself, with a MutatingAdmissionPolicy. A reconciler puts its own in
// the place of it when it claims the object, and removes it from one that is deleted
// before. It says nothing of what there is outside; but an object that bears a
// finalizer from the beginning is asked to go, whereas one without is removed by
// an API server that read it before our finalizer was stored, in spite of that.
const UnclaimedFinalizer = "moorage.dev/unclaimed"

// ensureFinalizer puts our finalizer into an object that is not deleted, in the place of
// the one that says that nobody has claimed it, and tells whether that changed
// anything. Where the finalizer is the author's, it is there already. Those of predecessors go when ours is stored, and
// what they marked: what a write adds may be dropped, and what it removes is removed all the same.
func (p *object) ensureFinalizer(mg resource.Managed) bool {
	if meta.WasDeleted(mg) || p.r.finalizer != nil && !p.finalizerAdded {
		return false
	}
	before := len(mg.GetFinalizers())
	meta.RemoveFinalizer(mg, UnclaimedFinalizer)
	if p.r.finalizer != nil || meta.FinalizerExists(mg, FinalizerName) {
		if len(p.theirMarks()) == 0 {
			p.r.retired.removeFinalizers(mg)
		}

		return len(mg.GetFinalizers()) < before
	}
	meta.AddFinalizer(mg, FinalizerName)

	return true
}

// ignore ends a pass of a deleted object that is not ours. If nobody has claimed
// it, it may go.
func (p *creationRecord) ignore(ctx context.Context) (outcome, error) {
	p.warnLeft()
	if !meta.FinalizerExists(p.mg, UnclaimedFinalizer) {
		return endings[lifecycle.Ignore], nil
	}
	desired := clone(p.mg)
	meta.RemoveFinalizer(desired, UnclaimedFinalizer)
	err := p.replaceFinalizers(ctx, desired)
	if errors.Is(err, errReplaced) {
		err = nil
	}

	return outcome{name: endings[lifecycle.Ignore].name, requeue: never}, removingFinalizer.failed(err)
}

// replaceFinalizers stores those of desired, if the object is still as it was read.
func (p *object) replaceFinalizers(ctx context.Context, desired resource.Managed) error {
	return p.patch(ctx, telemetry.Finalizer, desired, map[string]any{
		"metadata": p.precondition(map[string]any{"finalizers": desired.GetFinalizers()}),
	})
}
