package managed

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/conditions"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/deadline"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The types of conditions that each pass sets, those of its outcome, those that report how it ended, and those that
// only a pass sets.
var (
	ownTypes = []commonv1.ConditionType{
		commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate, commonv1.TypeCreated,
		commonv1.TypeReconciling, commonv1.TypeStalled,
	}
	outcomeTypes = []commonv1.ConditionType{commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate}
	newsTypes    = []commonv1.ConditionType{commonv1.TypeSynced, commonv1.TypeUpToDate}
	passTypes    = []commonv1.ConditionType{commonv1.TypeReady, commonv1.TypeSynced}
)

// setCondition sets a condition, with the time of the clock and the generation of this pass. It ignores a condition
// without a type. Usually the object has the condition already, and setCondition does nothing.
func (p *object) setCondition(c commonv1.Condition) {
	if c.Type == "" {
		return
	}
	c.ObservedGeneration = p.generation
	c.LastTransitionTime = metav1.NewTime(p.now().Truncate(time.Second).Local()) // as it is decoded
	if says := p.mg.GetCondition(c.Type); !says.Equal(c) || says.ObservedGeneration != c.ObservedGeneration {
		p.mg.SetConditions(c)
	}
}

// writeStatus writes the status changes of this pass, if there are any. The precondition of the write is the newest
// known resourceVersion. Otherwise the write could overwrite the status of another writer, or of a recreated object
// with the same name.
//
// After a conflict it applies the changes to the current status, unless another pass has reported since. In that case
// the observation of this pass is older.
//
// After the end of its lease the process writes no status, because it would overwrite the status of the new leader,
// which would not notice. If the end of the lease is unknown, the lease is assumed to be valid.
func (p *creationRecord) writeStatus(ctx context.Context) error {
	p.stamp()
	if p.newest == p.read && sameStatus(p.read, p.mg) { // otherwise the patch decides
		return nil
	}
	if left, limited, err := p.leaseLeft(); err == nil && limited && left <= 0 {
		return p.notOurs()
	}

	return p.putStatus(ctx)
}

// stamp sets the generation of this pass on conditions that the author's code has set in it. SetConditions clears the
// generation of a condition. So a condition without a generation was set in this pass, or another runtime has written
// it. In the second case, stamp sets the generation only if this pass has observed.
func (p *creationRecord) stamp() {
	for _, t := range ownTypes {
		if c := p.mg.GetCondition(t); c.ObservedGeneration == 0 && (p.observedOnce || c != p.read.GetCondition(t)) {
			conditions.Stamp(p.mg, p.generation, t)
		}
	}
}

// notOurs returns the error for a status that another process has to write.
func (p *object) notOurs() error {
	const why = "the lease of this process is over, and another process may have written a newer status"

	return errors.Errorf("%w: %s", errFenced, why)
}

func (p *object) putStatus(ctx context.Context) error {
	ctx, cancel := deadline.In(context.WithoutCancel(ctx), statusTimeout)
	defer cancel()
	if p.statusChanged(p.newest) {
		return p.conflict("another pass has written the status since")
	}
	if err := p.patchStatus(ctx); !kerrors.IsConflict(err) {
		return err
	}
	live, err := p.readLive(ctx)
	if err != nil {
		return err
	}
	if p.statusChanged(live) {
		return p.conflict("another pass has written the status since")
	}
	p.newest = live
	p.mg.SetResourceVersion(live.GetResourceVersion())

	return p.patchStatus(ctx)
}

// statusChanged reports whether conditions that only a pass sets have changed since this pass has read them. Another
// process has then made a pass, or this process has made a pass whose status it has not read yet.
func (p *object) statusChanged(now resource.Managed) bool {
	is, isObserver := now.(resource.GenerationObserver)
	was, wasObserver := p.read.(resource.GenerationObserver)
	if isObserver && wasObserver && is.GetObservedGeneration() != was.GetObservedGeneration() {
		return true
	}

	return slices.ContainsFunc(passTypes, func(t commonv1.ConditionType) bool {
		return !now.GetCondition(t).Equal(p.read.GetCondition(t))
	})
}

// conflict returns the conflict error of a pass whose object has changed since it was read.
func (p *object) conflict(what string) error {
	kind := schema.GroupResource{Group: p.r.of.Group, Resource: p.r.of.Kind}

	return kerrors.NewConflict(kind, p.mg.GetName(), errors.New(what))
}

// patchStatus applies the status changes of this pass to the newest status.
func (p *object) patchStatus(ctx context.Context) error {
	newest, desired, err := p.statuses()
	if err != nil {
		return err
	}
	patch := newest.PatchTo(desired)
	if !p.worthWriting(newest, patch) {
		return nil
	}
	data, err := json.Marshal(map[string]any{"metadata": p.precondition(map[string]any{}), "status": patch})
	if err != nil {
		return errors.Wrap(err, "cannot encode patch")
	}
	before := p.mg.GetResourceVersion()
	answer := clone(p.mg)
	if err := p.r.client.Status().Patch(ctx, answer, client.RawPatch(types.MergePatchType, data)); err != nil {
		return p.withoutStatus(p.vanished(ctx, err))
	}
	p.r.telemetry.Wrote(telemetry.Status, answer.GetResourceVersion() != before)
	p.state.VolatileWritten = p.now()
	if base, rest := p.unstoredStatus(newest, desired, answer, before); rest != nil {
		p.recordPruned(base, rest)
		p.logPruned(desired, answer)
	} else {
		p.state.Dropped = objectstate.Dropped{}
	}
	p.newest = answer
	p.mg.SetResourceVersion(answer.GetResourceVersion())
	p.state.Version = answer.GetResourceVersion()

	return nil
}

// statuses returns the present status, and the desired one.
func (p *object) statuses() (newest, desired objectjson.Status, err error) {
	read, err := objectjson.StatusOf(p.read)
	if err != nil {
		return objectjson.Status{}, objectjson.Status{}, err
	}
	mine, err := objectjson.StatusLike(p.mg, p.read, read)
	if err != nil {
		return objectjson.Status{}, objectjson.Status{}, err
	}
	if newest = read; p.newest != p.read && !sameStatus(p.newest, p.read) {
		if newest, err = objectjson.StatusLike(p.newest, p.read, read); err != nil {
			return objectjson.Status{}, objectjson.Status{}, err
		}
	}
	stampOthers(read.Conditions, mine.Conditions, p.generation)
	p.concealIn(read.Conditions, mine.Conditions)

	return newest, objectjson.Status{
		Fields:     mergepatch.Apply(newest.Fields, mergepatch.Between(read.Fields, mine.Fields)),
		Conditions: conditions.Merge(read.Conditions, mine.Conditions, newest.Conditions),
	}, nil
}

// sameStatus reports whether the status of two versions of an object is certainly equal. It is cheaper than a
// comparison of their JSON.
func sameStatus(a, b resource.Managed) bool {
	is, ok := objectjson.StatusPart(a)
	was, ok2 := objectjson.StatusPart(b)
	if !ok || !ok2 {
		return reflect.DeepEqual(a, b)
	}

	return reflect.DeepEqual(is, was)
}

// stampOthers sets the generation on conditions with types of other owners that were set in this pass.
func stampOthers(read, mine []commonv1.Condition, generation int64) {
	for i, c := range mine {
		if c.ObservedGeneration == 0 && !slices.Contains(read, c) {
			mine[i].ObservedGeneration = generation
		}
	}
}

// worthWriting reports whether a change of the status has to be written now. A change that the API server does not
// store, or a change of only volatile fields, can wait.
func (p *object) worthWriting(newest objectjson.Status, patch map[string]any) bool {
	if len(patch) == 0 {
		return false
	}
	rest := p.lasting(patch)
	switch {
	case len(rest) > 0 && !p.prunedBefore(newest, rest):
		return true
	case reflect.DeepEqual(rest, patch): // nothing is volatile
		return false
	case p.state.VolatileWritten.IsZero():
		p.state.VolatileWritten = p.now()
	}

	return p.r.volatileInterval > 0 && p.now().Sub(p.state.VolatileWritten) >= p.r.volatileInterval
}

// lasting returns the part of a change without volatile fields.
func (p *object) lasting(patch map[string]any) map[string]any {
	if len(p.r.volatile) == 0 {
		return patch
	}

	return mergepatch.Without(patch, p.r.volatile)
}
