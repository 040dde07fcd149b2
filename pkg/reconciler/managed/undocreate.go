package managed

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/external"
)

// undoCreate deletes the resource that this pass has created, if the pass failed because the object is gone.
//
// A finalizer does not always keep an object. An API server that deletes an object reads it first. If the object has
// no finalizer then, the API server removes it a moment later, even if a finalizer was stored in between. So an
// object that had no finalizer when this pass began may be gone, and only this pass knows its resource.
//
// The resource is ours, because Create has just succeeded, unless the observation after Create has found another
// owner. It is not in use yet. This deletion is the only exception from one change per pass.
func (p *clientSession) undoCreate(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resultTimeout)
	defer cancel()
	if retained, err := p.retain(ctx); retained || err != nil {
		return
	}
	err := persistently(ctx, func(ctx context.Context) error {
		err := p.external.Delete(ctx, p.mg)
		if _, goesOn := external.AsInProgress(err); goesOn || external.IsNotFound(err) {
			return nil
		}

		return err
	})
	if err != nil {
		p.log().Info("Object is gone in spite of its finalizer; what was created for it cannot be deleted", "error",
			p.redact(err))

		return
	}
	p.released = true
	p.log().Info("Object is gone in spite of its finalizer; what was created for it is deleted")
}

// undoable reports whether this pass has created a resource that no other pass would know of if the object is gone.
func (p *clientSession) undoable() bool {
	others := p.observed && p.observation.ResourceExists && p.observation.Owner == OwnerOther

	return p.created && !others && len(p.read.GetFinalizers()) == 0 && p.may().Delete
}
