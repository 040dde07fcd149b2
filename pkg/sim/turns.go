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

// Turns is who waits for a worker of a process.
type turns struct {
	asked map[types.NamespacedName]time.Time // what users changed, and since when it is known
	since int                                // hand-outs since somebody came before a user
	under map[types.NamespacedName]progress  // passes under way over that
	still map[types.NamespacedName]bool      // what comes back because they could do nothing
}

// Progress is how far a pass came.
type progress struct{ connected, looked bool }

func newTurns() turns {
	return turns{
		asked: map[types.NamespacedName]time.Time{}, since: share,
		under: map[types.NamespacedName]progress{}, still: map[types.NamespacedName]bool{},
	}
}

// comes notes that a user's change has come to the process. A process that was deposed
// cannot tell from it what the leader writes, and serves that first as well.
func (t *turns) comes(c apiserver.Change, now time.Time, deposed bool) {
	_, waits := t.asked[c.Key]
	news := deposed || c.Old == nil || c.Type == apiserver.Deleted || c.Old.GetUID() != c.Object.GetUID() ||
		c.Old.GetGeneration() != c.Object.GetGeneration() || isDeleted(c.Old) != isDeleted(c.Object)
	if news && !waits {
		t.asked[c.Key] = now
	}
}

// reaches notes that a pass has come to an external call.
func (t *turns) reaches(key types.NamespacedName, call string) {
	if p, users := t.under[key]; users {
		t.under[key] = progress{connected: true, looked: p.looked || call != "Connect"}
	}
}

// ends notes that a pass is over. Its user waits still if it could connect, and was held
// back before it looked, or if it read what was old: it comes back as the user's.
func (t *turns) ends(key types.NamespacedName, result reconcile.Result) {
	p, users := t.under[key]
	delete(t.under, key)
	if !users || !p.connected || result.Priority == nil || *result.Priority != controller.PriorityUser {
		return
	}
	held, conflicted := !p.looked && result.RequeueAfter > 0, result.Requeue //nolint:staticcheck // reconcilers use it still
	t.still[key] = held || conflicted
}

// judgeTurn judges that it is the turn of what a worker begins with: what users
// changed comes first, but for one of ten hand-outs; and of the others nobody waits
// for longer than a poll interval.
func (w *World) judgeTurn(p *process, i *item) {
	t := &p.turns
	t.since++
	if _, users := t.asked[i.key]; users || t.still[i.key] {
		delete(t.asked, i.key)
		delete(t.still, i.key)
		t.under[i.key] = progress{}

		return
	}
	for _, key := range slices.SortedFunc(maps.Keys(t.asked), func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) }) {
		if p.queue.working[key] || !t.asked[key].Before(w.now()) {
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
