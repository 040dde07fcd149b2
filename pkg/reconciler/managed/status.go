package managed

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/conditions"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Set sets conditions, at the time of the clock.
func (p *pass) set(conditions ...commonv1.Condition) {
	now := metav1.NewTime(p.now()).Rfc3339Copy()
	for i := range conditions {
		conditions[i].LastTransitionTime = now
	}
	p.mg.SetConditions(conditions...)
}

// Stamp puts the generation this pass works on to the conditions that were set
// in it. Setting a condition takes its stamp off, so one that has none was set.
func (p *pass) stamp() {
	conditions.Stamp(p.mg, p.generation, commonv1.TypeReady, commonv1.TypeSynced, commonv1.TypeUpToDate, commonv1.TypeCreated)
}

// WriteStatus writes what this pass changed in the status, and nothing if that
// is nothing. It carries the newest version this pass knows: without one, a
// status is written over those of others, and into a namesake of an object that
// is gone. After a conflict the changes are put on what is there now.
func (p *pass) writeStatus(ctx context.Context) error {
	p.stamp()
	if p.newest == p.read && equality.Semantic.DeepEqual(p.read, p.mg) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statusTimeout)
	defer cancel()
	if err := p.patchStatus(ctx); !kerrors.IsConflict(err) {
		return err
	}
	live := p.r.newManaged()
	if err := p.r.cluster.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(p.mg), live); err != nil {
		return err
	}
	if live.GetUID() != p.mg.GetUID() {
		return errReplaced
	}
	p.newest = live
	p.mg.SetResourceVersion(live.GetResourceVersion())

	return p.patchStatus(ctx)
}

// PatchStatus puts what this pass changed on the newest status.
func (p *pass) patchStatus(ctx context.Context) error {
	desired, newest, err := p.desiredStatus()
	if err != nil {
		return err
	}
	patch := mergepatch.Between(newest, desired)
	if !p.worthWriting(patch) {
		return nil
	}
	data, err := json.Marshal(map[string]any{"metadata": p.precondition(map[string]any{}), "status": patch})
	if err != nil {
		return errors.Wrap(err, "cannot encode patch")
	}
	before := p.mg.GetResourceVersion()
	id := fingerprint(newest, patch)
	if p.memo.dropped == id {
		return nil
	}
	answer := clone(p.mg)
	if err := p.r.client.Status().Patch(ctx, answer, client.RawPatch(types.MergePatchType, data)); err != nil {
		return err
	}
	p.memo.dropped, p.memo.volatileAt = [sha256.Size]byte{}, p.now()
	if before != "" && answer.GetResourceVersion() == before {
		p.memo.dropped = id
		p.sayDropped(desired, answer)
	}
	p.newest = answer
	p.mg.SetResourceVersion(answer.GetResourceVersion())
	p.memo.version = answer.GetResourceVersion()

	return nil
}

// DesiredStatus returns the status as it is to become, and as it is.
func (p *pass) desiredStatus() (desired, newest map[string]any, err error) {
	images := make([]map[string]any, 3)
	listed := make([][]commonv1.Condition, 3)
	for i, mg := range []resource.Managed{p.read, p.mg, p.newest} {
		if images[i], err = statusImage(mg); err != nil {
			return nil, nil, err
		}
		if listed[i], err = conditionsOf(images[i]); err != nil {
			return nil, nil, err
		}
	}
	read, mine, newest := images[0], images[1], images[2]
	stampOthers(listed[0], listed[1], p.generation)

	desired = mergepatch.Apply(newest, mergepatch.Between(mergepatch.Without(read, conditionsPath), mergepatch.Without(mine, conditionsPath)))
	delete(desired, "conditions")
	if both := conditions.Merge(listed[0], listed[1], listed[2]); len(both) > 0 {
		if desired["conditions"], err = roundTrip[[]any](both); err != nil {
			return nil, nil, err
		}
	}

	return desired, newest, nil
}

// WorthWriting says whether a change of the status is one, or only one of
// volatile fields that can wait.
func (p *pass) worthWriting(patch map[string]any) bool {
	switch {
	case len(patch) == 0:
		return false
	case len(mergepatch.Without(patch, p.r.volatile)) > 0:
		return true
	case p.memo.volatileAt.IsZero():
		p.memo.volatileAt = p.now()
	}

	return p.r.volatileInterval > 0 && p.now().Sub(p.memo.volatileAt) >= p.r.volatileInterval
}

var conditionsPath = []mergepatch.Path{{"conditions"}}

// StampOthers stamps the conditions of other types than ours that were set in
// this pass.
func stampOthers(read, mine []commonv1.Condition, generation int64) {
	for i, c := range mine {
		if c.ObservedGeneration == 0 && !slices.Contains(read, c) {
			mine[i].ObservedGeneration = generation
		}
	}
}

func conditionsOf(status map[string]any) ([]commonv1.Condition, error) {
	return roundTrip[[]commonv1.Condition](status["conditions"])
}

// Fingerprint identifies a change of a status. Encoding sorts the keys.
func fingerprint(base, patch map[string]any) [sha256.Size]byte {
	data, err := json.Marshal([]any{base, patch})
	if err != nil {
		return [sha256.Size]byte{} // what came out of JSON goes into it
	}

	return sha256.Sum256(data)
}

// PrunedFields are those that were said to be unknown to the CRD of the kind.
type prunedFields struct {
	mu   sync.Mutex
	said bool
}

func (p *pass) sayDropped(desired map[string]any, answer resource.Managed) {
	p.r.pruned.mu.Lock()
	defer p.r.pruned.mu.Unlock()
	stored, err := statusImage(answer)
	if p.r.pruned.said || err != nil {
		return
	}
	p.r.pruned.said = true
	fields := mergepatch.Missing(desired, stored, "status.")
	slices.Sort(fields)
	p.log.Info("The API server drops fields of the status: the CRD of this kind is older than the provider; apply its newer version",
		"kind", p.r.of.Kind, "fields", strings.Join(fields, ", "))
}
