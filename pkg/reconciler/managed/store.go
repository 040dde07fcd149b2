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
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/deadline"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

const (
	// How long the result of a Create is tried to be stored, in all and per
	// request.
	resultTimeout  = 25 * time.Second
	requestTimeout = 5 * time.Second

	// How long the status of a pass that was cut off may take to be written.
	statusTimeout = 10 * time.Second
)

// store writes finalizer and annotations as this pass has them, and what was
// filled in before and by Observe. It writes what differs from the object as last
// answered, in one merge patch that fails on a stale read, and nothing if nothing
// does.
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
		return p.changed("its resource version is the same, and the record of its creation is gone")
	}
	// The write would have failed on any version but the newest that is known, so
	// that a new generation is what this pass itself filled in; unless an earlier
	// write, which carried no version, had met a user's change.
	if before == p.generation {
		p.generation = p.newest.GetGeneration()
	}
	p.initPatch, p.initLabels, p.lateInitPatch = nil, nil, nil
	p.keepIdentity()

	return nil
}

// withName adds the external name to changes that record what it stands for. After a restore of the API server that
// this process does not know of, the version that it knows may be that of another state of the object, without the
// name. A name that is chosen here is not recorded so: the one that was restored may be the user's.
func (p *object) withName(changes map[string]any) {
	mark, _ := changes[meta.AnnotationKeyCreateAttempt].(string)
	if name := meta.GetExternalName(p.mg); !p.r.named && name != "" && strings.HasSuffix(mark, "/"+attemptSucceeded) {
		changes[meta.AnnotationKeyExternalName] = name
	}
}

// recordWasLost says whether the external name, or a mark of the creation, that the object had is not in the answer to
// a write that did not change it: the API server was restored, and has given the same resource version again. The pass
// does not go on with an object that it has not decided on.
func (p *object) recordWasLost(recorded map[string]string, changes map[string]any) bool {
	lost := func(key string) bool {
		_, changed := changes[key]

		return !changed && recorded[key] != "" && p.mg.GetAnnotations()[key] == ""
	}

	return lost(meta.AnnotationKeyExternalName) || slices.ContainsFunc(recordMarks, lost)
}

// withRecord adds the record of a creation to the note that its user was asked about it, for the same reason: a note
// without the record would be taken for the answer that nothing was created.
func (p *object) withRecord(changes map[string]any) {
	if _, noted := changes[meta.AnnotationKeyWasUnresolved].(string); !noted {
		return
	}
	for _, key := range recordMarks {
		if mark := p.mg.GetAnnotations()[key]; mark != "" {
			changes[key] = mark
		}
	}
}

// storeWithoutFinalizer removes ours, those of a predecessor (see [WithRetiredFinalizers]), and one that says that
// nobody has claimed the object.
func (p *object) storeWithoutFinalizer(ctx context.Context) error {
	if !meta.FinalizerExists(p.mg, FinalizerName) && !p.r.retired.on(p.mg) {
		return nil
	}
	desired := clone(p.mg)
	meta.RemoveFinalizer(desired, FinalizerName)
	p.r.retired.removeFinalizers(desired)

	return p.replaceFinalizers(ctx, desired)
}

// patchAnnotations stores changes of annotations whatever else has changed in
// the object, as long as it is the same object, and tries until ctx ends. If the
// API server refuses them as they are (they may be too large), our own go alone:
// a client's note may be lost, a name may not. That a creation came to nothing is
// stored over that creation alone: a process that was held up does not deny what
// another has begun since. So is what a later pass stores.
func (p *object) patchAnnotations(ctx context.Context, changes map[string]any) error {
	p.state.recordWrite(changes)
	metadata := map[string]any{"annotations": changes}
	if uid := p.mg.GetUID(); uid != "" {
		metadata["uid"] = uid
	}
	denies := isFailed(changes[meta.AnnotationKeyCreateAttempt]) || len(p.state.Unwritten) > 0
	if denies {
		metadata["resourceVersion"] = p.newest.GetResourceVersion()
	}

	var overtaken error
	err := persistently(ctx, func(ctx context.Context) error {
		err := p.patch(ctx, telemetry.Result, clone(p.mg), map[string]any{"metadata": metadata})
		if err == nil {
			err = checkStored(changes, nil, nil, p.newest)
		}
		switch {
		case denies && kerrors.IsConflict(err):
			live, ours, failed := p.sameAttempt(ctx)
			if failed == nil && !ours && len(p.state.Unwritten) > 0 { // which the next pass compares with what is there now
				overtaken = p.changed("the record of the creation was changed")
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

// persistently calls fn until it succeeds, the object turns out to be gone, or
// ctx ends. It returns the last error of fn.
func persistently(ctx context.Context, fn func(context.Context) error) error {
	var last error
	backoff := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Steps: 6}
	err := backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		ctx, cancel := deadline.In(ctx, requestTimeout)
		defer cancel()
		last = fn(ctx)
		if last != nil && (errors.Is(last, errReplaced) || isNotStored(last)) { // and will not be a moment later
			return false, last
		}

		return last == nil, nil
	})
	if last == nil {
		return err
	}

	return last
}

// vanished returns errReplaced if a write failed because the object is gone, and
// the error otherwise. A 404 is also answered by proxies, by an API server that does
// not know the kind yet, and for a subresource that the kind does not have: the
// object is gone only if the API server, asked for the object itself, says so.
func (p *object) vanished(ctx context.Context, err error) error {
	if anotherUID(err) {
		return errReplaced
	}
	if err := gone.IgnoreConfirmed(ctx, p.r.cluster.GetAPIReader(), p.mg, err); err != nil {
		return err
	}

	return errReplaced
}

// anotherUID says whether the answer to a patch with a UID means that the object
// has another one. That is answered as invalid, not as a conflict.
func anotherUID(err error) bool {
	var status kerrors.APIStatus
	if !kerrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}

	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return c.Field == "metadata.uid"
	})
}

// patch sends a merge patch. Desired is the object as it is to become. The error
// is errReplaced if the object is gone.
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

// adoptResponse takes over what the API server answered to a write: its version, and
// the metadata that others may have changed. What this pass learned (the
// status) and what it decided on (generation, deletion) stay.
func (p *object) adoptResponse(answer resource.Managed) {
	p.newest = answer
	p.mg.SetResourceVersion(answer.GetResourceVersion())
	p.mg.SetFinalizers(slices.Clone(answer.GetFinalizers()))
	p.mg.SetAnnotations(maps.Clone(answer.GetAnnotations()))
	p.state.Version, p.state.Live = answer.GetResourceVersion(), true
}

// precondition adds to the metadata of a patch what makes it fail for another
// version of the object.
func (p *object) precondition(metadata map[string]any) map[string]any {
	if uid := p.mg.GetUID(); uid != "" {
		metadata["uid"] = uid
	}
	if version := p.mg.GetResourceVersion(); version != "" {
		metadata["resourceVersion"] = version
	}

	return metadata
}

// learned says whether Observe found something that has to be stored.
func (p *object) learned() bool {
	return len(p.initPatch) > 0 || len(p.initLabels) > 0 || len(p.lateInitPatch) > 0 ||
		!maps.Equal(p.newest.GetAnnotations(), p.mg.GetAnnotations())
}

// difference returns the merge patch that makes annotations of before those of
// after.
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
