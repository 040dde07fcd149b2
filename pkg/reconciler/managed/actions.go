package managed

import (
	"context"
	"maps"
	"slices"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Steps are the actions after which a pass goes on: they add to what is known.
var steps = map[lifecycle.Action]func(*pass, context.Context) error{
	lifecycle.Observe: (*pass).observe,
	lifecycle.Claim:   (*pass).claim,
	lifecycle.Create:  (*pass).create,
	lifecycle.Update:  (*pass).update,
	lifecycle.Delete:  (*pass).delete,
}

func (p *pass) observe(ctx context.Context) error {
	if err := p.connect(ctx); err != nil {
		return connecting.failed(err)
	}
	o, err := p.external.Observe(ctx, p.mg)
	if err != nil {
		return observing.failed(err)
	}
	p.observation, p.observed = o, true
	if o.ResourceExists && !p.stranger() {
		p.memo.seen, p.found = creation(p.mg, p.mg), true
	}
	if o.ResourceExists && !o.ResourceUpToDate && o.Diff != "" {
		p.log.Debug("External resource differs from desired state", "diff", redact.String(o.Diff))
	}

	return nil
}

func (p *pass) connect(ctx context.Context) error {
	if p.external != nil {
		return nil
	}
	limited, cancel := limit(ctx, callDeadline(ctx))
	p.hangUp = cancel // not yet: a client may keep the context for later calls
	c, err := p.r.connecter.Connect(limited, p.mg)
	if err != nil {
		return err
	}
	if c == nil {
		return errors.New("the connecter returned no client and no error")
	}
	if d, ok := c.(ExternalDisconnecter); ok {
		p.disconnects = append(p.disconnects, d)
	}
	p.disconnects = append(p.disconnects, p.r.connecter)
	p.external = bounded{c, callDeadline(ctx)}

	return nil
}

// Claim makes an object the owner of a resource that exists: it stores the
// finalizer, the external name and whatever Observe learned, in one write that
// fails if the object has changed.
func (p *pass) claim(ctx context.Context) error {
	p.claimed = true
	if !meta.WasDeleted(p.mg) {
		if err := p.addFinalizer(ctx); err != nil {
			return finalizing.failed(err)
		}
	}
	switch {
	case p.resolves():
		finish(p.mg, attemptSucceeded, p.now())
	case p.adopts():
		meta.SetExternalCreateSucceeded(p.mg, p.now())
		meta.RemoveAnnotations(p.mg, meta.AnnotationKeyCreateAttempt)
	}

	return updatingObject.failed(p.store(ctx, p.observation.ResourceLateInitialized))
}

// Adopts says whether claiming takes over what exists and was not created here.
// The mark that says so tells it from what was: a finalizer without a mark means
// created here.
func (p *pass) adopts() bool {
	unheld := p.r.finalizer == nil && !meta.FinalizerExists(p.mg, FinalizerName)

	return p.observation.ResourceExists && (unheld || p.observation.Owner == OwnerNobody) && meta.GetExternalCreateSucceeded(p.mg).IsZero()
}

// AddFinalizer adds the finalizer of the author, or prepares ours to be stored.
func (p *pass) addFinalizer(ctx context.Context) error {
	if p.r.finalizer == nil || p.finalized {
		return nil
	}
	answer := clone(p.mg)
	if err := p.r.finalizer.AddFinalizer(ctx, answer); err != nil {
		return err
	}
	p.finalized = true
	if answer.GetResourceVersion() == p.mg.GetResourceVersion() && slices.Equal(answer.GetFinalizers(), p.mg.GetFinalizers()) {
		return nil
	}
	// The status of the answer is this pass's own, not what is stored.
	newest := clone(p.newest)
	newest.SetResourceVersion(answer.GetResourceVersion())
	newest.SetFinalizers(answer.GetFinalizers())
	newest.SetAnnotations(p.newest.GetAnnotations())
	p.newest = newest
	p.mg.SetResourceVersion(answer.GetResourceVersion())
	p.mg.SetFinalizers(answer.GetFinalizers())
	p.memo.version = answer.GetResourceVersion()

	return nil
}

// Create the external resource between two records: that it is about to be
// created, and what became of it. Nothing comes between it and the second.
func (p *pass) create(ctx context.Context) error {
	if err := p.prepareCreate(ctx); err != nil {
		return err
	}
	before := maps.Clone(p.mg.GetAnnotations())
	err := p.external.Create(ctx, p.mg)
	p.acted, p.observed = true, false
	lost := p.recordResult(ctx, before, err)

	switch {
	case external.IsAlreadyExists(err):
		p.taken = err

		return recording.failed(lost)
	case err != nil:
		if lost != nil {
			p.tell(event.Warning(reasonCannotUpdateManaged, redact.Error(lost)))
		}

		return creating.failed(err)
	}
	p.memo.seen, p.memo.since, p.memo.creation = "", p.now(), created(p.mg)
	if p.r.named {
		p.memo.creation = createdHere
	}
	p.tell(event.Normal(reasonCreated, "Successfully requested creation of external resource"))

	return recording.failed(lost)
}

// PrepareCreate does all that must be durable before Create is called.
func (p *pass) prepareCreate(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return creating.failed(errors.Wrap(err, "not begun"))
	}
	if err := p.addFinalizer(ctx); err != nil {
		return finalizing.failed(err)
	}
	if !p.r.named {
		begin(p.mg, p.r.newAttempt(), p.now())
	}

	return recordingIntent.failed(p.store(ctx, false))
}

func (p *pass) update(ctx context.Context) error {
	if err := p.external.Update(ctx, p.mg); err != nil {
		return updating.failed(err)
	}
	p.acted, p.observed = true, false
	p.memo.since = p.now() // an update may replace what it changes
	if p.memo.unchanged == 0 {
		p.tell(event.Normal(reasonUpdated, "Successfully requested update of external resource"))
	}

	return nil
}

func (p *pass) delete(ctx context.Context) error {
	if err := p.external.Delete(ctx, p.mg); err != nil {
		return deleting.failed(err)
	}
	if p.memo.deleteSent.IsZero() {
		p.tell(event.Normal(reasonDeleted, "Successfully requested deletion of external resource"))
	}
	p.acted, p.observed = true, false
	p.memo.deleteSent = p.now()

	return nil
}

// LetGo removes the finalizer. An object that is gone needs no more.
func (p *pass) letGo(ctx context.Context) error {
	if p.r.finalizer != nil {
		err := resource.IgnoreNotFound(p.r.finalizer.RemoveFinalizer(ctx, p.mg))
		p.memo.letGo = err == nil

		return lettingGo.failed(err)
	}
	err := p.removeFinalizer(ctx)
	if errors.Is(err, errReplaced) {
		return nil
	}

	return lettingGo.failed(err)
}
