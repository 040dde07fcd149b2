package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// A turns records which objects wait for a worker of a process.
type turns struct {
	asked map[types.NamespacedName]time.Time // changed by users, and since when the process knows it
	event map[types.NamespacedName]time.Time // enqueued by events with the priority of users, and since when
	since int                                // hand-outs since another object came before one of a user
	under map[types.NamespacedName]progress  // passes of these objects in progress
	still map[types.NamespacedName]bool      // requeued because their pass could do nothing
}

// A progress records how far a pass has come.
type progress struct{ connected, observed bool }

func newTurns() turns {
	return turns{
		asked: map[types.NamespacedName]time.Time{}, event: map[types.NamespacedName]time.Time{}, since: share,
		under: map[types.NamespacedName]progress{}, still: map[types.NamespacedName]bool{},
	}
}

// comes records that the process knows of a change, and enqueues its object with a priority. A process that was deposed
// cannot distinguish changes of users from those of the leader, and may serve both first.
func (t *turns) comes(c apiserver.Change, priority int, now time.Time, deposed bool) {
	if _, enqueued := t.event[c.Key]; !enqueued && priority == controller.PriorityUser {
		t.event[c.Key] = now
	}
	_, known := t.asked[c.Key]
	news := deposed || c.Old == nil || c.Type == apiserver.Deleted || c.Old.GetUID() != c.Object.GetUID() ||
		c.Old.GetGeneration() != c.Object.GetGeneration() || isDeleted(c.Old) != isDeleted(c.Object)
	if news && !known {
		t.asked[c.Key] = now
	}
}

// reaches records that a pass makes an external call.
func (t *turns) reaches(key types.NamespacedName, call string) {
	if p, users := t.under[key]; users {
		t.under[key] = progress{connected: true, observed: p.observed || call != "Connect"}
	}
}

// ends records the end of a pass. Its object keeps its priority if the pass connected and was throttled before it
// observed, or if it had a conflict.
func (t *turns) ends(key types.NamespacedName, result reconcile.Result) {
	p, users := t.under[key]
	delete(t.under, key)
	if !users || !p.connected || result.Priority == nil || *result.Priority != controller.PriorityUser {
		return
	}
	conflicted := result.Requeue //nolint:staticcheck // reconcilers use it still
	held := !p.observed && result.RequeueAfter > 0
	t.still[key] = held || conflicted
}

// judgeTurn checks the order in which a worker takes objects. Objects that users changed come first, except in one of
// ten turns, and except after an object whose event came earlier. The queue keeps the order of events, because it
// cannot tell who made a change. No other object waits longer than a poll interval.
func (w *World) judgeTurn(p *process, i *item) {
	t := &p.turns
	t.since++
	event, enqueued := t.event[i.key]
	delete(t.event, i.key)
	if _, users := t.asked[i.key]; users || t.still[i.key] {
		delete(t.asked, i.key)
		delete(t.still, i.key)
		t.under[i.key] = progress{}

		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(t.asked),
		func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) }) {
		earlier := enqueued && i.priority == controller.PriorityUser && event.Before(t.asked[key])
		if p.queue.working[key] || earlier || !t.asked[key].Before(w.now()) {
			continue
		}
		if t.since < share {
			w.violate("L6", fmt.Sprintf("%s waits since a user changed it, and %s comes first", key.Name, i.key.Name))
		}
		t.since = 0

		break
	}
	if waited := w.now().Sub(i.due); waited > pollInterval && w.fired == 0 {
		w.violate("L6", fmt.Sprintf("%s was due for %s", i.key.Name, waited))
	}
}
