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

// The bookkeeping of a creation are three times (pending, succeeded, failed),
// which other runtimes understand, and the attempt, which does not depend on
// clocks: its id while it is under way, "id/succeeded" or "id/failed" after.
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

// ownMark is the 32 bit FNV-1a hash of the UID. Package hash/fnv and fmt would make
// garbage of it several times in every pass.
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

// nextAttempt returns the id of the attempt that is about to be made: that of the
// last one if its result is not known and the same token leads to the same
// resource.
func (p *clientSession) nextAttempt() string {
	if id, _ := attemptOf(p.mg); id != "" && p.class() == lifecycle.Token && (p.unresolved() || p.createdUnobserved()) {
		p.repeatsAttempt = true

		return id
	}

	return p.newAttempt()
}

// markPending marks that an attempt to create is about to be made. The time is later
// than that of the last result by the second that times are told in: a runtime
// that knows only times must see that this attempt is the later one. It is later
// than the last beginning too, whatever the clock says: that one attempt was begun
// again must show.
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

// markResult marks what became of the attempt. The time is never before that of the
// beginning, or of the number of the id, whatever the clock says.
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

// markUnknown marks that an attempt ended in an error that does not tell what became of
// it. Runtimes that know only times are told the same as of a failure, unless the
// call was cut off; the attempt itself has no result.
func markUnknown(mg resource.Managed, err error, now time.Time) {
	if external.IsInterrupted(err) {
		return
	}
	if pending := meta.GetExternalCreatePending(mg); now.Before(pending) {
		now = pending
	}
	meta.SetExternalCreateFailed(mg, now)
}

// attemptOf returns the id and the result of the last attempt to create.
func attemptOf(mg resource.Managed) (id, result string) {
	id, result, _ = strings.Cut(mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt], "/")

	return id, result
}

// isFailed says whether an annotation says of an attempt that it came to nothing.
func isFailed(attempt any) bool {
	text, _ := attempt.(string)

	return strings.HasSuffix(text, "/"+attemptFailed)
}

// sameAttempt returns the object as the API server has it now, and whether it is marked
// with the attempt that this pass knows of: as it was begun last, and as far as it is
// known what became of it.
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

// copied says whether the marks were made for another object, and came with a
// copy of it: the id of the attempt tells.
func copied(mg resource.Managed, id string) bool {
	_, of, bound := strings.Cut(id, "-")
	own := ownMark(mg)

	return bound && of != string(own[:])
}

// abandoned says whether a user gave up the last attempt, whose result nobody
// knows, or of whose result nobody knows the name.
func abandoned(mg resource.Managed) bool {
	id, result := attemptOf(mg)
	nameless := result == attemptSucceeded && meta.WasDeleted(mg) && meta.GetExternalName(mg) == ""

	return id != "" && (result == "" || nameless) && mg.GetAnnotations()[meta.AnnotationKeyAbandonAttempt] == id
}

// abandon tells that what the last attempt may have led to is given up.
func (p *creationRecord) abandon() {
	if !abandoned(p.mg) {
		return
	}
	id, _ := attemptOf(p.mg)
	p.r.telemetry.Abandoned()
	p.recordEvent(event.Warning(reasonAbandoned,
		errors.Errorf("The attempt %s to create was given up; what it may have led to is left to whoever looks for it", id)))
}

// lost says whether a create was begun whose result is not known, for this object or for
// the one that it is a copy of. A user ends that by removing the pending mark, or by
// abandoning the attempt.
func lost(mg resource.Managed) bool {
	if meta.GetExternalCreatePending(mg).IsZero() || abandoned(mg) {
		return false
	}
	id, result := attemptOf(mg)

	return id != "" && result == "" || meta.ExternalCreateIncomplete(mg) && !resultTaken(mg, result)
}

// resultTaken says whether somebody has removed the mark of the result of the last attempt, and nothing else: the
// attempt and its mark are given their result at once, and no runtime removes a mark when it begins another creation.
func resultTaken(mg resource.Managed, result string) bool {
	return result == attemptSucceeded && meta.GetExternalCreateSucceeded(mg).IsZero() ||
		result == attemptFailed && meta.GetExternalCreateFailed(mg).IsZero()
}

// unresolved says whether a create was begun for this object whose result is not known.
func unresolved(mg resource.Managed) bool {
	id, _ := attemptOf(mg)

	return lost(mg) && !copied(mg, id)
}

// unresolved says the same of the object of the pass, and of an attempt that it has inherited.
// An attempt for which this process did not call Create has no result to wait for.
func (p *creationRecord) unresolved() bool {
	id, _ := attemptOf(p.mg)

	return lost(p.mg) && (p.inherited == id || !copied(p.mg, id)) && !p.uncalled()
}

// created returns what identifies the creation whose result the object stands
// for, or nothing if the last attempt did not succeed.
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

// creation returns the reference to the creation that mg is marked with, under the
// name that named has.
func creation(mg, named resource.Managed) objectstate.CreationRef {
	return objectstate.CreationRef{Mark: created(mg), Name: meta.GetExternalName(named)}
}

// observedInStatus reports whether the status tells that an observation has found what a creation led to,
// and whether it did so under the name that it has now.
func (p *creationRecord) observedInStatus(this objectstate.CreationRef) (creation, name bool) {
	told := p.mg.GetCondition(commonv1.TypeCreated)
	if told.Status != metav1.ConditionTrue {
		return false, false
	}

	return this.MatchesCondition(told.Message)
}

// recordResult stores what Create did to the annotations and how it ended. With
// a name of our own choice the result need not be marked: a repeated Create is
// harmless. It goes on when ctx is cancelled.
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
		case !p.repeatsAttempt && p.provesNotCreated(err): // of an earlier call of the same attempt it says nothing
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
		// Another process may have begun an attempt of its own: its marks are
		// not to be overwritten.
		return p.store(ctx, telemetry.Result)
	}
	changes := difference(before, p.mg.GetAnnotations())
	if pending := p.mg.GetAnnotations()[meta.AnnotationKeyExternalCreatePending]; ended && pending != "" {
		// Another process may have begun the same attempt again meanwhile: a
		// beginning that is later than this end would deny it.
		changes[meta.AnnotationKeyExternalCreatePending] = pending
	}
	err = p.writeResult(ctx, changes)
	if err != nil && ended && !errors.Is(err, errReplaced) {
		p.state.Unwritten = texts(changes)
	}

	return err
}

// writeResult stores changes of annotations that tell how a Create ended.
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

// recordByAuthor lets the author's updater store the annotations. The updater
// may replace the object it is given, so it gets a copy. It writes over whatever
// there is: that a creation came to nothing is given to it only after a look.
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
