package managed

import (
	"context"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// uncalled reports whether the annotations of the object belong to an attempt for which this process did not call
// Create. The response to the write was then lost, or showed that not everything was stored.
func (p *creationRecord) uncalled() bool {
	annotations := p.mg.GetAnnotations()
	pending, id := annotations[meta.AnnotationKeyExternalCreatePending], annotations[meta.AnnotationKeyCreateAttempt]

	return slices.ContainsFunc(p.state.Uncalled, func(i objectstate.Intent) bool {
		return i.Pending == pending && (i.Attempt == id || i.Before == id)
	})
}

// The largest number of remembered intents without a call: writes whose answers were lost may take effect late, and
// there may be many attempts during an outage.
const intentsRemembered = 32

// intend marks an attempt to create as pending, and remembers it as not called until [pass.create] calls Create.
// Repetitions of an attempt are not remembered.
func (p *clientSession) intend() {
	before := p.mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt]
	attempt.MarkPending(p.mg, p.nextAttempt(), p.now())
	if !p.repeatsAttempt {
		marks, late := p.mg.GetAnnotations(), p.state.Uncalled // which may still be stored late
		p.state.Uncalled = append(late[max(0, len(late)-intentsRemembered+1):], objectstate.Intent{
			Pending: marks[meta.AnnotationKeyExternalCreatePending], Attempt: marks[meta.AnnotationKeyCreateAttempt],
			Before: before,
		})
	}
}

// intended returns the attempt that the annotations of the object record.
func (p *creationRecord) intended() objectstate.Intent {
	if p.r.named {
		return objectstate.Intent{}
	}

	return intentOf(p.mg)
}

// intentMarks are the annotations of an attempt that has no result.
var intentMarks = []string{meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyCreateAttempt}

// intentOf returns the attempt that the annotations of an object record.
func intentOf(mg resource.Managed) objectstate.Intent {
	marks := mg.GetAnnotations()

	return objectstate.Intent{
		Pending: marks[meta.AnnotationKeyExternalCreatePending],
		Attempt: marks[meta.AnnotationKeyCreateAttempt],
	}
}

// withdraw reverts an intent that was not stored completely, so that no other process waits for the result of an
// attempt that was never made.
func (p *creationRecord) withdraw(ctx context.Context, before map[string]string) {
	for _, key := range intentMarks {
		if value, was := before[key]; was {
			meta.AddAnnotations(p.mg, map[string]string{key: value})
		} else {
			meta.RemoveAnnotations(p.mg, key)
		}
	}
	if err := p.store(ctx, telemetry.Intent); err != nil {
		p.log().Debug("Cannot take back the marks of an attempt that was not made", "error", p.redact(err))
	}
}

// texts returns the annotations that are set by changes.
func texts(changes map[string]any) map[string]string {
	set := map[string]string{}
	for key, change := range changes {
		if text, ok := change.(string); ok {
			set[key] = text
		}
	}

	return set
}

// writeUnwritten stores the result of a Create that an earlier pass of this process could not store. It does so if
// the object has the attempt without a result, or no annotation of an attempt, as after a replace. Any other
// annotations belong to a later attempt.
func (p *creationRecord) writeUnwritten(ctx context.Context) error {
	if len(p.state.Unwritten) == 0 {
		return nil
	}
	of, _, _ := strings.Cut(p.state.Unwritten[meta.AnnotationKeyCreateAttempt], "/")
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	live, err := p.readLive(ctx)
	if err != nil {
		return rereading.failed(err)
	}
	switch id, result := attempt.Of(live); {
	case p.unmarked(live):
		if before, _ := attempt.Of(p.newest); before != "" {
			return recording.failed(p.conflict("the record of the creation was taken from it"))
		}
	case id != of || result != "" && !lacks(live, p.state.Unwritten) && !p.altered(live):
		p.state.Unwritten, p.state.Altered = nil, "" // it was stored, or belongs to another attempt

		return nil
	}
	changes := map[string]any{}
	for key, text := range p.state.Unwritten {
		changes[key] = text
	}
	meta.AddAnnotations(p.mg, p.state.Unwritten)
	if err := p.writeResult(ctx, changes); err != nil {
		p.hold(ctx)

		return recording.failed(err)
	}
	p.state.Unwritten, p.state.Altered = nil, ""
	if p.state.Called.Attempt == of {
		p.state.Called = objectstate.Intent{}
	}
	p.log().Info("Stored how a creation ended that could not be stored before")

	return nil
}

// unmarked reports whether the object has no annotation of the attempt whose result could not be stored, and no other
// external name was set since.
func (p *creationRecord) unmarked(live resource.Managed) bool {
	id, _ := attempt.Of(live)
	name := meta.GetExternalName(live)

	return id == "" && meta.GetExternalCreatePending(live).IsZero() &&
		(name == "" || name == p.state.Unwritten[meta.AnnotationKeyExternalName])
}

// lacks reports whether any of the annotations is missing. The API server may drop the external name and store the
// rest.
func lacks(mg resource.Managed, annotations map[string]string) bool {
	for key := range annotations {
		if mg.GetAnnotations()[key] == "" {
			return true
		}
	}

	return false
}

// hold restores the finalizer that another writer has removed from an object whose successful creation cannot be
// recorded: a policy that drops or rejects annotations may let finalizers pass.
func (p *creationRecord) hold(ctx context.Context) {
	if !p.state.unrecorded() || p.r.finalizer != nil || meta.WasDeleted(p.mg) ||
		meta.FinalizerExists(p.mg, FinalizerName) {
		return
	}
	desired := clone(p.mg)
	meta.AddFinalizer(desired, FinalizerName)
	if err := p.replaceFinalizers(ctx, desired); err != nil {
		p.log().Debug("Cannot put the finalizer back", "error", p.redact(err))
	}
}

// finalizerRemovedByOthers reports whether another writer has removed the finalizer from an object whose resource is
// being created, was created and never observed, or has another external name than a replace has written. Once the
// resource is observed, the finalizer is added again.
func (p *creationRecord) finalizerRemovedByOthers() bool {
	if p.r.named || p.r.finalizer != nil || meta.WasDeleted(p.mg) || meta.FinalizerExists(p.mg, FinalizerName) {
		return false
	}
	id, _ := attempt.Of(p.mg)

	return id != "" && (p.unresolved() || p.createdUnobserved()) || p.replaced()
}
