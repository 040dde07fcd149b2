package managed

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// UnclaimedFinalizer is a placeholder finalizer for new objects. A MutatingAdmissionPolicy should set it at creation.
// It prevents a race: if an object has no finalizer when a delete begins, the API server may remove the object
// although a finalizer was stored meanwhile.
//
// The reconciler replaces UnclaimedFinalizer with its own finalizer in the first pass that stores a finalizer. If the
// deletion of the object is requested before that pass, the reconciler removes UnclaimedFinalizer. This finalizer does
// not imply that an external resource exists.
const UnclaimedFinalizer = "moorage.dev/unclaimed"

// ensureFinalizer replaces [UnclaimedFinalizer] by our finalizer on an object that is not being deleted, and reports
// whether that changed anything. If the author has a finalizer, it is there already.
//
// Finalizers and annotations of predecessors are removed only after our finalizer is stored. Otherwise an admission
// policy might drop the addition but accept the removal in the same write.
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

// ignore ends a pass over a deleted object without our finalizer. It removes [UnclaimedFinalizer], so that an object
// that was never claimed can be removed.
func (p *creationRecord) ignore(ctx context.Context) (outcome, error) {
	p.warnLeft()
	if !meta.FinalizerExists(p.mg, UnclaimedFinalizer) {
		return outcomes[ignored], nil
	}
	desired := clone(p.mg)
	meta.RemoveFinalizer(desired, UnclaimedFinalizer)
	err := p.replaceFinalizers(ctx, desired)
	if errors.Is(err, errReplaced) {
		err = nil
	}

	return outcomes[unclaimed], removingFinalizer.failed(err)
}

// replaceFinalizers stores the finalizers of desired, if the object has not changed since it was read.
func (p *object) replaceFinalizers(ctx context.Context, desired resource.Managed) error {
	return p.patch(ctx, telemetry.Finalizer, desired, map[string]any{
		"metadata": p.precondition(map[string]any{"finalizers": desired.GetFinalizers()}),
	})
}
