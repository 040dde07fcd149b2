package managed

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// notObserved handles an observation without a state. An operation may be in progress, may have failed, or its state
// may be unknown.
func (p *clientSession) notObserved(ctx context.Context, handle string, err error) error {
	failure := observing.failed(p.noteInProgress(err))
	if failure != nil {
		if _, terminal := external.TerminalReason(err); handle == "" || !terminal && !external.IsNotCreated(err) {
			return failure
		}
		setOperation(p.mg, "")
		p.revertCreated(err)
	}
	if lost := p.keepOperation(ctx); failure == nil {
		failure = recording.failed(lost)
	}

	return failure
}

// noteInProgress records the operation of a call that was accepted and continues, which is no failure. The handle
// is put into the object, to be stored.
func (p *clientSession) noteInProgress(err error) error {
	o, ok := external.AsInProgress(err)
	if !ok {
		return err
	}
	p.operation = &o
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

// revertCreated removes the record that a create succeeded, after the operation of the create has certainly failed.
func (p *clientSession) revertCreated(err error) {
	if !external.IsNotCreated(err) || !p.createdUnobserved() {
		return
	}
	p.state.Creation = ""
	if !p.r.named {
		attempt.MarkResult(p.mg, attempt.Failed, p.now())
	}
}

// keepOperation stores the handle if it has changed. It continues when ctx is canceled, like every write of the
// result of a call.
func (p *object) keepOperation(ctx context.Context) error {
	if operationOf(p.mg) == operationOf(p.newest) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resultTimeout)
	defer cancel()

	return p.patchAnnotations(ctx, difference(p.newest.GetAnnotations(), p.mg.GetAnnotations()))
}

// operationOf returns the handle of the operation that the external system has begun for the object and not ended.
func operationOf(mg resource.Managed) string { return mg.GetAnnotations()[meta.AnnotationKeyOperation] }
