package managed

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/external"
)

// undoCreate deletes the resource that this pass has created for an object that is gone by now, if that is the
// cause of the failure. A finalizer does not always keep an object: an API server that deletes one reads it and, if
// there is no finalizer, removes it a moment later, whatever was stored in between. So an object that had none when
// this pass began may be gone without its finalizer, and only this pass knows what is left. The resource is not in
// use yet, and it is ours, because Create has just succeeded, unless the observation after it has found another
// owner. It is the one exception from one change per pass.
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

// undoable says whether this pass has created what nothing but it knows of, if the object is gone.
func (p *clientSession) undoable() bool {
	others := p.observed && p.observation.ResourceExists && p.observation.Owner == OwnerOther

	return p.created && !others && len(p.read.GetFinalizers()) == 0 && p.may().Delete
}
