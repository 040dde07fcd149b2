package managed

import (
	"context"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

const textRecordLost = "the object was created before this process became the leader: looking for what an earlier " +
	"one may have created, whose record a replace or a restore would have taken"

// The clock of the API server may be ahead of ours by this much.
const clockMargin = 2 * time.Second

// firstAttempt returns the id of the first attempt for the object, which every process makes alike: a replace or a
// restore may have taken the record of it, and the process that wrote it may be gone. It is empty if anything is
// known of an attempt, or if a token does not lead to what was created with it.
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

// recordMayBeLost says whether an earlier process may have made an attempt of which nothing is known, and which can
// be looked up. For an object that was created since this process is the leader none has. Where nothing is created or
// deleted it makes no difference.
func (p *clientSession) recordMayBeLost() bool {
	if p.ownClass() != lifecycle.Findable || p.mg.GetCreationTimestamp().After(p.r.electedAt().Add(clockMargin)) {
		return false
	}

	return (meta.WasDeleted(p.mg) || p.r.permissions(p.mg).Create) && p.firstAttempt() != ""
}

// recoverFirstAttempt looks up what the first attempt led to, and records what it finds as the result of that. Until
// the window is over, counted from when this process became the leader, nothing is created, and our finalizer keeps
// the object.
func (p *search) recoverFirstAttempt(ctx context.Context) (bool, error) {
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
	markPending(p.mg, id, p.now())
	p.log().Info("What an earlier process created is found by its token, and its record is restored", "externalName",
		meta.GetExternalName(p.mg))

	return true, p.recordFound(ctx)
}
