package managed

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// How long a change of the status that the API server did not store is not sent again: twice as long after each
// time, so that a change that is never stored costs next to nothing, and one that is stored again later is late by
// no more than it took until then.
const leastDropped = time.Minute

// prunedBefore reports whether the API server did not store this change of the status before, and it is too early to
// send the change again.
func (p *object) prunedBefore(newest objectjson.Status, patch map[string]any) bool {
	last := p.state.Dropped

	return last.Times > 0 && p.now().Before(last.Until) && last.Change == p.fingerprint(newest, patch)
}

// unstoredStatus returns the stored status after a successful write, and a patch for the fields that the API server
// did not store. A CustomResourceDefinition without a field stores only the other fields. The patch is nil if all
// fields are stored. It is also nil if that is unknown, because the status was written without a precondition.
func (p *object) unstoredStatus(newest, desired objectjson.Status, answer resource.Managed,
	before string) (objectjson.Status, map[string]any) {
	stored, err := objectjson.StatusLike(answer, p.newest, newest)
	if err != nil || before == "" {
		return stored, nil
	}
	if answer.GetResourceVersion() == before {
		return newest, newest.PatchTo(desired)
	}
	if reflect.DeepEqual(timeless(stored.Conditions), timeless(desired.Conditions)) {
		desired.Conditions = stored.Conditions
	}
	rest := stored.PatchTo(desired)
	if len(p.lasting(rest)) == 0 {
		return stored, nil
	}

	return stored, rest
}

// recordPruned remembers a change of the status that the API server did not store.
func (p *object) recordPruned(newest objectjson.Status, patch map[string]any) {
	now := objectstate.Dropped{Change: p.fingerprint(newest, patch)}
	if last := p.state.Dropped; last.Change == now.Change {
		now.Times = last.Times
	}
	now.Until = p.now().Add(leastDropped << min(now.Times, 20))
	now.Times++
	p.state.Dropped = now
}

// fingerprint identifies a change of a status. Encoding sorts the keys. It omits transition times, because an
// unstored condition gets a new time in each pass, and volatile fields, which change by themselves.
func (p *object) fingerprint(base objectjson.Status, patch map[string]any) [sha256.Size]byte {
	if sent, ok := patch["conditions"].([]commonv1.Condition); ok {
		patch = maps.Clone(patch)
		patch["conditions"] = timeless(sent)
	}
	data, err := json.Marshal([]any{p.lasting(base.Fields), timeless(base.Conditions), p.lasting(patch)})
	if err != nil {
		return none // the input was decoded from JSON
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
