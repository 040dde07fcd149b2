package managed

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/deadline"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	// How long the result of a Create is retried, in total and per request.
	resultTimeout  = 25 * time.Second
	requestTimeout = 5 * time.Second

	// How long the status write of an interrupted pass may take.
	statusTimeout = 10 * time.Second
)

// store writes the finalizer and the annotations of this pass, and the fields that initializers, references and
// Observe have set. It sends the difference from the last response in one merge patch that fails after a stale read.
// If there is no difference, it sends nothing.
func (p *object) store(ctx context.Context, what telemetry.Write) error {
	body := mergepatch.Merge(p.initPatch, p.lateInitPatch)
	metadata := map[string]any{}
	if len(p.initLabels) > 0 {
		metadata["labels"] = p.initLabels
	}
	annotations := difference(p.newest.GetAnnotations(), p.mg.GetAnnotations())
	if len(annotations) > 0 {
		p.withName(annotations)
		p.withRecord(annotations)
		if err := p.checkName(annotations); err != nil {
			return err
		}
		metadata["annotations"] = annotations
		p.state.recordWrite(annotations)
	}
	desired := clone(p.mg)
	if p.ensureFinalizer(desired) {
		metadata["finalizers"] = desired.GetFinalizers()
	}
	if len(body) == 0 && len(metadata) == 0 {
		return nil
	}
	body["metadata"] = p.precondition(metadata)
	before, marks := p.newest.GetGeneration(), p.newest.GetAnnotations()
	finalizers, recorded := slices.Clone(desired.GetFinalizers()), p.mg.GetAnnotations()
	if err := p.patch(ctx, what, desired, body); err != nil {
		return err
	}
	if err := checkStored(annotations, p.initLabels, finalizers, desired); err != nil {
		p.misnamed(ctx, marks, annotations)

		return err
	}
	if p.recordWasLost(recorded, annotations) {
		return p.conflict("its resource version is the same, and the record of its creation is gone")
	}
	// The write would have failed on any other version than the newest known one, so that a new generation is the
	// result of this write; unless an earlier write without a precondition was merged with a change by a user.
	if before == p.generation {
		p.generation = p.newest.GetGeneration()
	}
	p.initPatch, p.initLabels, p.lateInitPatch = nil, nil, nil
	p.keepIdentity()

	return nil
}

// difference returns the merge patch from annotations before to annotations after.
func difference(before, after map[string]string) map[string]any {
	changes := map[string]any{}
	for key, value := range after {
		if old, ok := before[key]; !ok || old != value {
			changes[key] = value
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			changes[key] = nil
		}
	}

	return changes
}

// withName adds the external name to changes that record a creation. After an unnoticed restore of the API server,
// the known resourceVersion may belong to another state of the object, which lacks the name. A deterministic name is
// not added, because a user may have set the restored name.
func (p *object) withName(changes map[string]any) {
	mark, _ := changes[meta.AnnotationKeyCreateAttempt].(string)
	if name := meta.GetExternalName(p.mg); !p.r.named && name != "" && strings.HasSuffix(mark, "/"+attempt.Succeeded) {
		changes[meta.AnnotationKeyExternalName] = name
	}
}

// withRecord adds the record of a creation to the note that its user was asked about it. After an unnoticed restore
// of the API server the object may lack the record, and the note alone would mean that nothing was created.
func (p *object) withRecord(changes map[string]any) {
	if _, noted := changes[meta.AnnotationKeyWasUnresolved].(string); !noted {
		return
	}
	for _, key := range attempt.RecordKeys {
		if mark := p.mg.GetAnnotations()[key]; mark != "" {
			changes[key] = mark
		}
	}
}

// precondition adds the resourceVersion of the object to the metadata of a patch. The patch then fails if the object
// has another version.
func (p *object) precondition(metadata map[string]any) map[string]any {
	if uid := p.mg.GetUID(); uid != "" {
		metadata["uid"] = uid
	}
	if version := p.mg.GetResourceVersion(); version != "" {
		metadata["resourceVersion"] = version
	}

	return metadata
}

// recordWasLost reports whether the response to a write lacks the external name or a mark of the creation, although
// the write did not change it. The API server was then restored and has used the same resourceVersion again. The pass
// must not continue with an object about which it has not decided.
func (p *object) recordWasLost(recorded map[string]string, changes map[string]any) bool {
	lost := func(key string) bool {
		_, changed := changes[key]

		return !changed && recorded[key] != "" && p.mg.GetAnnotations()[key] == ""
	}

	return lost(meta.AnnotationKeyExternalName) || slices.ContainsFunc(attempt.RecordKeys, lost)
}

// storeWithoutFinalizer removes our finalizer, those of a predecessor (see [WithRetiredFinalizers]), and
// [UnclaimedFinalizer].
func (p *object) storeWithoutFinalizer(ctx context.Context) error {
	if !meta.FinalizerExists(p.mg, FinalizerName) && !p.r.retired.on(p.mg) {
		return nil
	}
	desired := clone(p.mg)
	meta.RemoveFinalizer(desired, FinalizerName)
	p.r.retired.removeFinalizers(desired)

	return p.replaceFinalizers(ctx, desired)
}

// patchAnnotations stores changes of annotations, and retries until ctx ends. Its only precondition is the UID of the
// object.
//
// If the API server rejects the annotations, for example because they are too large, only the reconciler's own are
// sent. An annotation of a client may be lost, but not an external name. A failed creation, and a result that an
// earlier pass could not store, are stored only if the object still has the same creation. A delayed process must not
// overwrite the record of a later creation.
func (p *object) patchAnnotations(ctx context.Context, changes map[string]any) error {
	p.state.recordWrite(changes)
	metadata := map[string]any{"annotations": changes}
	if uid := p.mg.GetUID(); uid != "" {
		metadata["uid"] = uid
	}
	conditional := attempt.IsFailed(changes[meta.AnnotationKeyCreateAttempt]) || len(p.state.Unwritten) > 0
	if conditional {
		metadata["resourceVersion"] = p.newest.GetResourceVersion()
	}

	var overtaken error
	err := persistently(ctx, func(ctx context.Context) error {
		err := p.patch(ctx, telemetry.Result, clone(p.mg), map[string]any{"metadata": metadata})
		if err == nil {
			err = checkStored(changes, nil, nil, p.newest)
		}
		switch {
		case conditional && kerrors.IsConflict(err):
			live, ours, failed := p.sameAttempt(ctx)
			if failed == nil && !ours && len(p.state.Unwritten) > 0 { // which the next pass compares with the present object
				overtaken = p.conflict("the record of the creation was changed")
			}
			if failed != nil || !ours {
				return failed
			}
			metadata["resourceVersion"] = live.GetResourceVersion()
		case kerrors.IsInvalid(err) || kerrors.IsRequestEntityTooLargeError(err):
			p.log().Info("Annotations set by Create were refused, storing only the bookkeeping", "error", p.redact(err))
			maps.DeleteFunc(changes, func(key string, _ any) bool { return !ownedAnnotations[key] })
		}

		return err
	})
	if err == nil {
		return overtaken
	}

	return err
}

// persistently calls fn until it succeeds, the object is gone, or ctx ends. It returns the last error of fn.
func persistently(ctx context.Context, fn func(context.Context) error) error {
	var last error
	backoff := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 6}
	err := backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := deadline.In(ctx, requestTimeout)
		defer cancel()
		last = fn(ctx)
		if last != nil && (errors.Is(last, errReplaced) || isNotStored(last)) { // a retry cannot succeed
			return false, last
		}

		return last == nil, nil
	})
	if last == nil {
		return err
	}

	return last
}

// patch sends a merge patch. Desired is the object with the patch. The error is errReplaced if the object is gone.
func (p *object) patch(ctx context.Context, what telemetry.Write, desired resource.Managed, body map[string]any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return errors.Wrap(err, "cannot encode patch")
	}
	patch := client.RawPatch(types.MergePatchType, data)
	if err := p.r.client.Patch(ctx, desired, patch); err != nil {
		return p.vanished(ctx, err)
	}
	p.r.telemetry.Wrote(what, desired.GetResourceVersion() != p.mg.GetResourceVersion())
	p.adoptResponse(desired)

	return nil
}

// vanished returns errReplaced if a write failed because the object is gone, and the error otherwise. A 404 may also
// come from a proxy, from an API server that does not serve the kind yet, or from a missing subresource. So vanished
// reads the object to find out whether it is gone.
func (p *object) vanished(ctx context.Context, err error) error {
	if anotherUID(err) {
		return errReplaced
	}
	if err := gone.IgnoreConfirmed(ctx, p.r.cluster.GetAPIReader(), p.mg, err); err != nil {
		return err
	}

	return errReplaced
}

// anotherUID reports whether the response to a patch with a UID means that the object has another UID. The status of
// that response is Invalid, not Conflict.
func anotherUID(err error) bool {
	var status kerrors.APIStatus
	if !kerrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}

	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}

// adoptResponse takes over the resourceVersion from the response to a write, and the metadata that other writers may
// have changed. It keeps the status that this pass has set, and the generation and deletion timestamp on which the
// pass has decided.
func (p *object) adoptResponse(answer resource.Managed) {
	p.newest = answer
	p.mg.SetResourceVersion(answer.GetResourceVersion())
	p.mg.SetFinalizers(slices.Clone(answer.GetFinalizers()))
	p.mg.SetAnnotations(maps.Clone(answer.GetAnnotations()))
	p.state.Version, p.state.Live = answer.GetResourceVersion(), true
}

// learned reports whether Observe found something that has to be stored.
func (p *object) learned() bool {
	return len(p.initPatch) > 0 || len(p.initLabels) > 0 || len(p.lateInitPatch) > 0 ||
		!maps.Equal(p.newest.GetAnnotations(), p.mg.GetAnnotations())
}
