package managed

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// How long a change of the status that the API server did not store is not sent again: twice as
// long after each time, so that one that is never stored costs next to nothing, and one that is
// stored again some day is late by no more than it took until then.
const leastDropped = time.Minute

// prunedBefore says whether the API server did not store this change of the status, and it is
// not to be sent again yet.
func (p *object) prunedBefore(newest statusImage, patch map[string]any) bool {
	last := p.state.Dropped

	return last.Times > 0 && p.now().Before(last.Until) && last.Change == p.fingerprint(newest, patch)
}

// unstoredStatus returns what the API server has not stored of a status although it says so, and on top of what
// that is missing: a definition that lacks a field stores the rest. It is nil if all is stored, or if
// nobody can tell because the status was written over whatever there was.
func (p *object) unstoredStatus(newest, desired statusImage, answer resource.Managed,
	before string) (statusImage, map[string]any) {
	stored, err := statusLike(answer, p.newest, newest)
	if err != nil || before == "" {
		return stored, nil
	}
	if answer.GetResourceVersion() == before {
		return newest, newest.patchTo(desired)
	}
	if reflect.DeepEqual(timeless(stored.conditions), timeless(desired.conditions)) {
		desired.conditions = stored.conditions
	}
	rest := stored.patchTo(desired)
	if len(p.lasting(rest)) == 0 {
		return stored, nil
	}

	return stored, rest
}

// recordPruned remembers a change of the status that the API server did not store.
func (p *object) recordPruned(newest statusImage, patch map[string]any) {
	now := objectstate.Dropped{Change: p.fingerprint(newest, patch)}
	if last := p.state.Dropped; last.Change == now.Change {
		now.Times = last.Times
	}
	now.Until = p.now().Add(leastDropped << min(now.Times, 20))
	now.Times++
	p.state.Dropped = now
}

// fingerprint identifies a change of a status. Encoding sorts the keys. When a condition came
// to be is left out: what is not stored comes to be anew in each pass. So are volatile fields,
// which change by themselves.
func (p *object) fingerprint(base statusImage, patch map[string]any) [sha256.Size]byte {
	if told, ok := patch["conditions"].([]commonv1.Condition); ok {
		patch = maps.Clone(patch)
		patch["conditions"] = timeless(told)
	}
	data, err := json.Marshal([]any{p.lasting(base.fields), timeless(base.conditions), p.lasting(patch)})
	if err != nil {
		return none // what came out of JSON goes into it
	}

	return sha256.Sum256(data)
}

// timeless returns the conditions without their times.
func timeless(conditions []commonv1.Condition) []commonv1.Condition {
	out := slices.Clone(conditions)
	for i := range out {
		out[i].LastTransitionTime = metav1.Time{}
	}

	return out
}
