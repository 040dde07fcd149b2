package managed

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// operation returns the handle of what the external system has begun for the object
// and not ended.
func operation(mg resource.Managed) string { return mg.GetAnnotations()[meta.AnnotationKeyOperation] }

// begun takes over that a call was accepted and goes on: that is no failure. What it
// was called is kept in the object, to be stored.
func (p *pass) begun(err error) error {
	o, ok := external.AsInProgress(err)
	if !ok {
		return err
	}
	p.pending = &o
	setOperation(p.mg, o.Handle)

	return nil
}

func setOperation(mg resource.Managed, handle string) {
	if handle != "" {
		meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyOperation: handle})
	} else {
		meta.RemoveAnnotations(mg, meta.AnnotationKeyOperation)
	}
}

// keepOperation stores the handle if it is another one than before. It goes on when
// ctx is cancelled, as whatever stores the result of a call does.
func (p *pass) keepOperation(ctx context.Context) error {
	if operation(p.mg) == operation(p.newest) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resultTimeout)
	defer cancel()

	return p.patchAnnotations(ctx, difference(p.newest.GetAnnotations(), p.mg.GetAnnotations()))
}

// look observes. The connection details that it finds are secret at once: what follows may fail.
func (p *pass) look(ctx context.Context) (ExternalObservation, error) {
	o, err := p.lookUp(ctx)
	if err == nil {
		p.hideDetails(o)
	}

	return o, err
}

// lookUp observes, with what the client needs to ask for an operation that is in
// progress rather than for everything.
func (p *pass) lookUp(ctx context.Context) (ExternalObservation, error) {
	handle := operation(p.mg)
	if handle != "" {
		ctx = external.WithOperationHandle(ctx, handle)
	} else if o, ok, err := p.consult(ctx); ok || err != nil {
		return o, err
	}
	o, err := p.external.Observe(ctx, p.mg)
	switch {
	case external.IsNotFound(err):
		o, err = ExternalObservation{}, nil
	case err != nil:
		return o, p.notObserved(ctx, handle, err)
	}
	setOperation(p.mg, "") // what went on, if anything did, has ended

	return o, err
}

// notObserved is for an observation that found no state: an operation goes on, or has
// failed, or nobody can tell.
func (p *pass) notObserved(ctx context.Context, handle string, err error) error {
	failure := observing.failed(p.begun(err))
	if failure != nil {
		if _, terminal := external.TerminalReason(err); handle == "" || !terminal && !external.IsNotCreated(err) {
			return failure
		}
		setOperation(p.mg, "")
		p.uncreate(err)
	}
	if lost := p.keepOperation(ctx); failure == nil {
		failure = recording.failed(lost)
	}

	return failure
}

// uncreate takes back that a create succeeded, which has surely come to nothing.
func (p *pass) uncreate(err error) {
	if !external.IsNotCreated(err) || !p.unseen() {
		return
	}
	p.memo.Creation = ""
	if !p.r.named {
		finish(p.mg, attemptFailed, p.now())
	}
}

// inProgress is the outcome of a pass that leaves the external system at work.
func (p *pass) inProgress() outcome {
	const text = "waiting for an operation of the external system to end"
	o := outcome{
		name: "in-progress", synced: commonv1.ReconcileSuccess().WithMessage(text), again: soon, after: p.pending.After, progress: moving,
	}
	switch {
	case meta.WasDeleted(p.mg):
		o.ready = commonv1.Deleting()
	case !isReady(p.read):
		o.ready = commonv1.Creating()
		o.synced = commonv1.Condition{
			Type: commonv1.TypeSynced, Status: metav1.ConditionUnknown, Reason: commonv1.ReasonCreationPending, Message: text,
		}
	}

	return o
}
