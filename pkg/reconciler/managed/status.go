package managed

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

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

// The types of conditions that each pass says something of, those of its outcome, those that tell
// a user how it ended, and those that only a pass sets.
var (
	ownTypes = []commonv1.ConditionType{
		commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate, commonv1.TypeCreated,
		commonv1.TypeReconciling, commonv1.TypeStalled,
	}
	outcomeTypes = []commonv1.ConditionType{commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate}
	newsTypes    = []commonv1.ConditionType{commonv1.TypeSynced, commonv1.TypeUpToDate}
	passTypes    = []commonv1.ConditionType{commonv1.TypeReady, commonv1.TypeSynced}
)

// setCondition sets a condition, at the time of the clock and for the generation this pass works
// on. One without a type is none. What the object says already, as it nearly always does,
// is not said again: that would change nothing.
func (p *object) setCondition(c commonv1.Condition) {
	if c.Type == "" {
		return
	}
	c.ObservedGeneration = p.generation
	c.LastTransitionTime = metav1.NewTime(p.now().Truncate(time.Second).Local()) // as it comes back
	if says := p.mg.GetCondition(c.Type); !says.Equal(c) || says.ObservedGeneration != c.ObservedGeneration {
		p.mg.SetConditions(c)
	}
}

// stamp puts the generation this pass works on to the conditions that others have set
// in it. Setting a condition takes its stamp off, so one that has none was set, or another runtime
// has written it without: that says nothing of this generation unless this pass has looked.
func (p *creationRecord) stamp() {
	for _, t := range ownTypes {
		if c := p.mg.GetCondition(t); c.ObservedGeneration == 0 && (p.observedOnce || c != p.read.GetCondition(t)) {
			conditions.Stamp(p.mg, p.generation, t)
		}
	}
}

// writeStatus writes what this pass changed in the status, and nothing if that
// is nothing. It carries the newest version this pass knows: without one, a
// status is written over those of others, and into a namesake of an object that
// is gone. After a conflict the changes are put on what is there now, unless
// another pass has told since what it saw: then this one looked earlier. Once the lease
// of this process is over, it leaves the status to the process that has it now, which
// would not notice what is written over its own. A lease that does not say so is not over.
func (p *creationRecord) writeStatus(ctx context.Context) error {
	p.stamp()
	if p.newest == p.read && sameStatus(p.read, p.mg) { // or else the patch tells
		return nil
	}
	if left, limited, err := p.leaseLeft(); err == nil && limited && left <= 0 {
		return p.notOurs()
	}

	return p.putStatus(ctx)
}

// notOurs returns the error of a status that is left to another process.
func (p *object) notOurs() error {
	const why = "the lease of this process is over, and another one may have told since how the object is"

	return errors.Errorf("%w: %s", errFenced, why)
}

func (p *object) putStatus(ctx context.Context) error {
	ctx, cancel := deadline.In(context.WithoutCancel(ctx), statusTimeout)
	defer cancel()
	if p.statusChanged(p.newest) {
		return p.changed("another pass has told since what it saw")
	}
	if err := p.patchStatus(ctx); !kerrors.IsConflict(err) {
		return err
	}
	live, err := p.readLive(ctx)
	if err != nil {
		return err
	}
	if p.statusChanged(live) {
		return p.changed("another pass has told since what it saw")
	}
	p.newest = live
	p.mg.SetResourceVersion(live.GetResourceVersion())

	return p.patchStatus(ctx)
}

// statusChanged says whether what only a pass tells is other than this pass has read it.
// That was a pass of another process, or one that this process has not read of yet.
func (p *object) statusChanged(now resource.Managed) bool {
	is, tells := now.(resource.GenerationObserver)
	was, told := p.read.(resource.GenerationObserver)
	if tells && told && is.GetObservedGeneration() != was.GetObservedGeneration() {
		return true
	}

	return slices.ContainsFunc(passTypes, func(t commonv1.ConditionType) bool {
		return !now.GetCondition(t).Equal(p.read.GetCondition(t))
	})
}

// changed returns the conflict of a pass that has read the object before something was changed.
func (p *object) changed(what string) error {
	kind := schema.GroupResource{Group: p.r.of.Group, Resource: p.r.of.Kind}

	return kerrors.NewConflict(kind, p.mg.GetName(), errors.New(what))
}

// patchStatus puts what this pass changed on the newest status.
func (p *object) patchStatus(ctx context.Context) error {
	newest, desired, err := p.statuses()
	if err != nil {
		return err
	}
	patch := newest.patchTo(desired)
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

// statuses returns the status as it is, and as it is to become.
func (p *object) statuses() (newest, desired statusImage, err error) {
	read, err := statusOf(p.read)
	if err != nil {
		return statusImage{}, statusImage{}, err
	}
	mine, err := statusLike(p.mg, p.read, read)
	if err != nil {
		return statusImage{}, statusImage{}, err
	}
	if newest = read; p.newest != p.read && !sameStatus(p.newest, p.read) {
		if newest, err = statusLike(p.newest, p.read, read); err != nil {
			return statusImage{}, statusImage{}, err
		}
	}
	stampOthers(read.conditions, mine.conditions, p.generation)
	p.concealIn(read.conditions, mine.conditions)

	return newest, statusImage{
		fields:     mergepatch.Apply(newest.fields, mergepatch.Between(read.fields, mine.fields)),
		conditions: conditions.Merge(read.conditions, mine.conditions, newest.conditions),
	}, nil
}

// sameStatus says whether the status of two versions of an object is the same for
// sure, which is found out in less time than it takes to make an image of one.
func sameStatus(a, b resource.Managed) bool {
	is, ok := statusPart(a)
	was, ok2 := statusPart(b)
	if !ok || !ok2 {
		return reflect.DeepEqual(a, b)
	}

	return reflect.DeepEqual(is, was)
}

// worthWriting says whether a change of the status is one, or only one that the API server
// does not store, or one of volatile fields that can wait.
func (p *object) worthWriting(newest statusImage, patch map[string]any) bool {
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

// lasting returns the part of a change that is none of volatile fields.
func (p *object) lasting(patch map[string]any) map[string]any {
	if len(p.r.volatile) == 0 {
		return patch
	}

	return mergepatch.Without(patch, p.r.volatile)
}

// stampOthers stamps the conditions of other types than ours that were set in
// this pass.
func stampOthers(read, mine []commonv1.Condition, generation int64) {
	for i, c := range mine {
		if c.ObservedGeneration == 0 && !slices.Contains(read, c) {
			mine[i].ObservedGeneration = generation
		}
	}
}
