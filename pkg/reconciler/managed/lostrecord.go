package managed

import (
	"context"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

const textRecordLost = "the object was created before this process became the leader: looking for what an earlier " +
	"one may have created, whose record a replace or a restore would have taken"

// The largest assumed lead of the clock of the API server.
const clockMargin = 2 * time.Second

// recordMayBeLost reports whether an earlier process may have made an unknown attempt that can be looked up. It
// cannot have if the object was created after this process became the leader. Where nothing is created or deleted
// it makes no difference.
func (p *clientSession) recordMayBeLost() bool {
	if p.ownClass() != lifecycle.Findable || p.mg.GetCreationTimestamp().After(p.r.electedAt().Add(clockMargin)) {
		return false
	}

	return (meta.WasDeleted(p.mg) || p.r.permissions(p.mg).Create) && p.firstAttempt() != ""
}

// recoverFirstAttempt looks up the result of the first attempt, and records the resource that it finds as that
// result. Until the recovery window is over, counted from when this process became the leader, nothing is created,
// and our finalizer keeps the object.
func (p *recovery) recoverFirstAttempt(ctx context.Context) (bool, error) {
	id := p.firstAttempt()
	found, window, err := p.searchExternal(ctx, p.tokenOf(id))
	if err != nil {
		return false, observing.failed(err)
	}
	p.recoveryGrace = window - p.now().Sub(p.r.electedAt())
	p.searchedFirst = !found && p.recoveryGrace > 0
	if !found && p.recoveryGrace <= 0 {
		return false, nil
	}
	if !meta.WasDeleted(p.mg) {
		if err := p.addFinalizer(ctx); err != nil {
			return false, finalizing.failed(err)
		}
	}
	if !found {
		return false, updatingObject.failed(p.store(ctx, telemetry.Intent))
	}
	p.recoveryGrace = 0
	attempt.MarkPending(p.mg, id, p.now())
	p.log().Info("What an earlier process created is found by its token, and its record is restored", "externalName",
		meta.GetExternalName(p.mg))

	return true, p.recordFound(ctx)
}

// firstAttempt returns the id of the first attempt for the object, which every process derives alike: a replace or
// a restore may have removed its record, and the process that wrote it may be gone. It returns "" if an attempt is
// known, or if a token does not lead to what was created with it.
func (p *clientSession) firstAttempt() string {
	since, class := p.mg.GetCreationTimestamp(), p.ownClass()
	if class != lifecycle.Token && class != lifecycle.Findable || since.IsZero() {
		return ""
	}
	if slices.ContainsFunc(p.knownMarks(), func(mark string) bool { return mark != "" }) {
		return ""
	}

	return p.attemptID(since.Unix(), 0)
}
