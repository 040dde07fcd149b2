package managed

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The record of a creation has three times (pending, succeeded, failed), which other runtimes understand, and the
// attempt, which does not depend on clocks: its id while it is pending, "id/succeeded" or "id/failed" afterwards.
const (
	attemptSucceeded = "succeeded"
	attemptFailed    = "failed"
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
	id, _ := attemptOf(p.mg)
	if id != "" && p.createClass() == lifecycle.Token && (p.unresolved() || p.createdUnobserved()) {
		p.repeatsAttempt = true

		return id
	}

	return p.newAttempt()
}

// unresolved reports whether the object has a create with unknown result, of its own or inherited from the object
// that it was restored from. An attempt for which this process has not called Create does not count.
func (p *creationRecord) unresolved() bool {
	id, _ := attemptOf(p.mg)

	return resultUnknown(p.mg) && (p.inherited == id || !copied(p.mg, id)) && !p.uncalled()
}

// markPending records an attempt to create as pending. A runtime that reads only times must see that this attempt is
// later than the last result. So the pending time is at least one second later than the time of the last result; one
// second is the precision of these times. It is also later than the last pending time, even if the clock went back,
// so that a repeated attempt is visible.
func markPending(mg resource.Managed, attempt string, now time.Time) {
	for _, before := range []time.Time{meta.GetExternalCreateSucceeded(mg), meta.GetExternalCreateFailed(mg),
		meta.GetExternalCreatePending(mg)} {
		if next := before.Add(time.Second); now.Before(next) {
			now = next
		}
	}
	meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyCreateAttempt: attempt})
	meta.SetExternalCreatePending(mg, now)
}

// warnAbandoned emits a warning that any resource of the last attempt is abandoned.
func (p *creationRecord) warnAbandoned() {
	if !abandoned(p.mg) {
		return
	}
	id, _ := attemptOf(p.mg)
	p.r.telemetry.Abandoned()
	p.recordEvent(event.Warning(reasonAbandoned,
		errors.Errorf("The attempt %s to create was given up; the runtime does not look for what it may have created", id)))
}

// ownUnresolved reports whether a create with unknown result was begun for this object.
func ownUnresolved(mg resource.Managed) bool {
	id, _ := attemptOf(mg)

	return resultUnknown(mg) && !copied(mg, id)
}

// resultUnknown reports whether a create with unknown result has begun, for this object or for the original of a
// copied object. The state ends if a user removes the pending annotation, or abandons the attempt.
func resultUnknown(mg resource.Managed) bool {
	if meta.GetExternalCreatePending(mg).IsZero() || abandoned(mg) {
		return false
	}
	id, result := attemptOf(mg)

	return id != "" && result == "" || meta.ExternalCreateIncomplete(mg) && !resultRemoved(mg, result)
}

// abandoned reports whether a user has abandoned the last attempt. The result of such an attempt is unknown, or has
// an unknown name.
func abandoned(mg resource.Managed) bool {
	id, result := attemptOf(mg)
	nameless := result == attemptSucceeded && meta.WasDeleted(mg) && meta.GetExternalName(mg) == ""

	return id != "" && (result == "" || nameless) && mg.GetAnnotations()[meta.AnnotationKeyAbandonAttempt] == id
}

// resultRemoved reports whether another writer has removed the time of the result of the last attempt, and nothing
// else: the result and its time are stored in one write, and no runtime removes a time when it begins another creation.
func resultRemoved(mg resource.Managed, result string) bool {
	return result == attemptSucceeded && meta.GetExternalCreateSucceeded(mg).IsZero() ||
		result == attemptFailed && meta.GetExternalCreateFailed(mg).IsZero()
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

// creation returns the reference to a creation: the mark is in the annotations of mg, and the external name is the
// external name of named.
func creation(mg, named resource.Managed) objectstate.CreationRef {
	return objectstate.CreationRef{Mark: created(mg), Name: meta.GetExternalName(named)}
}

// created returns the mark of the successful creation of the object's resource. It returns "" if the last attempt did
// not succeed.
func created(mg resource.Managed) string {
	id, result := attemptOf(mg)
	if copied(mg, id) {
		return ""
	}
	if id != "" {
		if result != attemptSucceeded {
			return ""
		}

		return mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt]
	}
	succeeded := meta.GetExternalCreateSucceeded(mg)
	if succeeded.IsZero() || succeeded.Before(meta.GetExternalCreateFailed(mg)) {
		return ""
	}

	return mg.GetAnnotations()[meta.AnnotationKeyExternalCreateSucceeded]
}

// copied reports whether the annotations were made for another object and copied with it. The ID of the attempt shows
// that.
func copied(mg resource.Managed, id string) bool {
	_, of, bound := strings.Cut(id, "-")
	own := ownMark(mg)

	return bound && of != string(own[:])
}

// ownMark returns the 32 bit FNV-1a hash of the UID in hexadecimal digits. Packages hash/fnv and fmt would allocate
// several times in every pass.
func ownMark(mg resource.Managed) (digits [8]byte) {
	sum := uint32(2166136261)
	for _, b := range []byte(mg.GetUID()) {
		sum = (sum ^ uint32(b)) * 16777619
	}
	var bytes [4]byte
	binary.BigEndian.PutUint32(bytes[:], sum)
	hex.Encode(digits[:], bytes[:])

	return digits
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
			markResult(p.mg, attemptSucceeded, p.now())
			ended = true
		case !p.repeatsAttempt && p.createFailed(err): // the error says nothing about an earlier call of the same attempt
			markResult(p.mg, attemptFailed, p.now())
			ended = true
		default:
			p.state.UnknownCreateErr = p.redact(err).Error()
			markUnknown(p.mg, err, p.now())
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

// markResult records the result of the attempt. Even if the clock went back, the time of the result is not before the
// pending time and not before the number in the ID.
func markResult(mg resource.Managed, result string, now time.Time) {
	id, _ := attemptOf(mg)
	now = latest(now, meta.GetExternalCreatePending(mg), beginning(id, now))
	if id != "" {
		meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyCreateAttempt: id + "/" + result})
	}
	if result == attemptSucceeded {
		meta.SetExternalCreateSucceeded(mg, now)
	} else {
		meta.SetExternalCreateFailed(mg, now)
	}
}

// attemptOf returns the id and the result of the last attempt to create.
func attemptOf(mg resource.Managed) (id, result string) {
	id, result, _ = strings.Cut(mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt], "/")

	return id, result
}

// markUnknown records that an attempt ended in an error that does not determine its result. The attempt has no result
// then. Runtimes that read only times see a failure, unless the call was interrupted.
func markUnknown(mg resource.Managed, err error, now time.Time) {
	if external.IsInterrupted(err) {
		return
	}
	if pending := meta.GetExternalCreatePending(mg); now.Before(pending) {
		now = pending
	}
	meta.SetExternalCreateFailed(mg, now)
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
	if isFailed(changes[meta.AnnotationKeyCreateAttempt]) {
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

// isFailed reports whether the value of an attempt annotation says that the attempt failed.
func isFailed(attempt any) bool {
	text, _ := attempt.(string)

	return strings.HasSuffix(text, "/"+attemptFailed)
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
