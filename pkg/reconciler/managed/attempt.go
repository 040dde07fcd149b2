package managed

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// ownedAnnotations are the annotations that the reconciler writes itself.
var ownedAnnotations = map[string]bool{
	meta.AnnotationKeyExternalName:            true,
	meta.AnnotationKeyExternalCreatePending:   true,
	meta.AnnotationKeyExternalCreateSucceeded: true,
	meta.AnnotationKeyExternalCreateFailed:    true,
	meta.AnnotationKeyCreateAttempt:           true,
	meta.AnnotationKeyBackendIdentity:         true,
	meta.AnnotationKeyLateInitialized:         true,
	meta.AnnotationKeyOperation:               true,
	meta.AnnotationKeyRestored:                true,
	meta.AnnotationKeyRestoredOwner:           true,
	meta.AnnotationKeyWasUnresolved:           true,
	meta.AnnotationKeyCreationDetails:         true,
}

// nextAttempt returns the ID for the attempt that is about to begin. If the result of the last attempt is unknown,
// and the same token leads to the same resource, it returns the ID of the last attempt.
func (p *clientSession) nextAttempt() string {
	id, _ := attempt.Of(p.mg)
	if id != "" && p.createClass() == lifecycle.Token && (p.unresolved() || p.createdUnobserved()) {
		p.repeatsAttempt = true

		return id
	}

	return p.newAttempt()
}

// unresolved reports whether the object has a create with unknown result, of its own or inherited from the object
// that it was restored from. An attempt for which this process has not called Create does not count.
func (p *creationRecord) unresolved() bool {
	id, _ := attempt.Of(p.mg)

	return attempt.Unresolved(p.mg) && (p.inherited == id || !attempt.Copied(p.mg, id)) && !p.uncalled()
}

// warnAbandoned emits a warning that any resource of the last attempt is abandoned.
func (p *creationRecord) warnAbandoned() {
	if !attempt.Abandoned(p.mg) {
		return
	}
	id, _ := attempt.Of(p.mg)
	p.r.telemetry.Abandoned()
	p.recordEvent(event.Warning(reasonAbandoned,
		errors.Errorf("The attempt %s to create was given up; the runtime does not look for what it may have created", id)))
}

// observedInStatus reports whether the status records that an observation has found the result of a creation. The
// second result reports whether it was found under the current external name.
func (p *creationRecord) observedInStatus(this objectstate.CreationRef) (creation, name bool) {
	condition := p.mg.GetCondition(commonv1.TypeCreated)
	if condition.Status != metav1.ConditionTrue {
		return false, false
	}

	return this.MatchesCondition(condition.Message)
}

// recordResult stores the result of Create, and the annotations that Create has changed. With deterministic names it
// does not store the result, because a repeated Create is harmless. It continues when ctx is canceled.
func (p *clientSession) recordResult(ctx context.Context, before map[string]string, err error) error {
	ended := false
	defer func() {
		if ended || errors.Is(err, errFenced) {
			p.state.Called = objectstate.Intent{}
		}
	}()
	if !p.r.named {
		switch {
		case err == nil:
			attempt.MarkResult(p.mg, attempt.Succeeded, p.now())
			ended = true
		case !p.repeatsAttempt && p.createFailed(err): // the error says nothing about an earlier call of the same attempt
			attempt.MarkResult(p.mg, attempt.Failed, p.now())
			ended = true
		default:
			p.state.UnknownCreateErr = p.redact(err).Error()
			attempt.MarkUnknown(p.mg, err, p.now())
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resultTimeout)
	defer cancel()
	if errors.Is(err, errFenced) {
		// Another process may have begun an attempt of its own, whose marks must not be overwritten.
		return p.store(ctx, telemetry.Result)
	}
	changes := difference(before, p.mg.GetAnnotations())
	if pending := p.mg.GetAnnotations()[meta.AnnotationKeyExternalCreatePending]; ended && pending != "" {
		// Another process may have begun the same attempt again meanwhile: a pending time later than this result would
		// contradict it.
		changes[meta.AnnotationKeyExternalCreatePending] = pending
	}
	err = p.writeResult(ctx, changes)
	if err != nil && ended && !errors.Is(err, errReplaced) {
		p.state.Unwritten = texts(changes)
	}

	return err
}

// writeResult stores changes of annotations that record the result of a Create.
func (p *creationRecord) writeResult(ctx context.Context, changes map[string]any) error {
	if err := p.checkName(changes); err != nil || len(changes) == 0 {
		return err
	}
	before := p.newest.GetAnnotations()
	write := p.patchAnnotations
	if p.r.critical != nil {
		write = p.recordByAuthor
	}
	err := write(ctx, changes)
	p.misnamed(ctx, before, changes)

	return err
}

// recordByAuthor lets the author's updater store the annotations. The updater may replace the object it is given,
// so it gets a copy. The updater overwrites without a precondition; a failed creation is therefore passed to it
// only after a read.
func (p *creationRecord) recordByAuthor(ctx context.Context, changes map[string]any) error {
	if attempt.IsFailed(changes[meta.AnnotationKeyCreateAttempt]) {
		var same bool
		err := persistently(ctx, func(ctx context.Context) (err error) {
			_, same, err = p.sameAttempt(ctx)

			return err
		})
		if err != nil || !same {
			return err
		}
	}
	p.state.recordWrite(changes)
	answer := clone(p.mg)
	if err := p.guarded("update critical annotations",
		func() error { return p.r.critical.UpdateCriticalAnnotations(ctx, answer) }); err != nil {
		return err
	}
	p.adoptResponse(answer)

	return checkStored(changes, nil, nil, answer)
}

// sameAttempt reads the object from the API server. It reports whether the object has the attempt that this pass
// knows: the same last pending time and, if the result is known, the same result.
func (p *object) sameAttempt(ctx context.Context) (live resource.Managed, same bool, err error) {
	live, err = p.readLive(ctx)
	if err != nil {
		return nil, false, err
	}
	now, known := live.GetAnnotations(), p.newest.GetAnnotations()
	same = now[meta.AnnotationKeyCreateAttempt] == known[meta.AnnotationKeyCreateAttempt] &&
		now[meta.AnnotationKeyExternalCreatePending] == known[meta.AnnotationKeyExternalCreatePending]
	if !same {
		p.log().Info("A creation that came to nothing is not recorded: it is recorded, or another was begun since")
	}

	return live, same, nil
}
