package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/ratelimiter"
)

// A queue is a model of the queue of package controller, and of the requests that a controller adds. It has one item
// per key, with the earliest time and the highest priority that were requested. It does not hand out an item while its
// key is being reconciled. It has a back-off per key. Tests compare it with the real queue.
type queue struct {
	items    map[types.NamespacedName]*item
	working  map[types.NamespacedName]bool
	failures map[types.NamespacedName]int
	added    int
	passed   int  // hand-outs for which a lower class waited since its last one
	waiting  bool // a worker waits because nothing was due
}

type item struct {
	key      types.NamespacedName
	priority int
	due      time.Time
	ready    bool
	order    int // among items of its priority
	first    int // among items that have been due for as long
}

func newQueue() *queue {
	return &queue{
		items:    map[types.NamespacedName]*item{},
		working:  map[types.NamespacedName]bool{},
		failures: map[types.NamespacedName]int{},
	}
}

// done ends the reconcile of a key as a controller does.
func (q *queue) done(now time.Time, key types.NamespacedName, priority int, result reconcile.Result, err error) {
	delete(q.working, key)
	if result.Priority != nil {
		priority = *result.Priority
	}
	switch {
	case err != nil, result.RequeueAfter <= 0 && result.Requeue: //nolint:staticcheck // reconcilers use it still
		q.add(now, key, q.backOff(key), priority)
	case result.RequeueAfter > 0:
		delete(q.failures, key)
		q.add(now, key, result.RequeueAfter, priority)
	default:
		delete(q.failures, key)
	}
}

// add adds a key that is due after a duration.
func (q *queue) add(now time.Time, key types.NamespacedName, after time.Duration, priority int) {
	q.wake(now)
	due := now.Add(max(after, 0))
	have := q.items[key]
	if have == nil {
		order := q.next()
		q.items[key] = &item{key: key, priority: priority, due: due, ready: after <= 0, order: order, first: order}

		return
	}
	if due.Before(have.due) {
		have.due = due
	}
	have.ready = have.ready || after <= 0
	if priority > have.priority {
		have.priority, have.order = priority, q.next()
	}
}

func (q *queue) backOff(key types.NamespacedName) time.Duration {
	n := q.failures[key]
	q.failures[key]++
	after := float64(ratelimiter.BackOffBase) * math.Pow(2, float64(n))

	return time.Duration(min(after, float64(ratelimiter.BackOffMax)))
}

// share is a number of turns. In one of them the queue hands out a waiting item of a lower priority.
const share = 10

// take hands out an item that is due. Usually it is the first item with the highest priority. In one of share turns it
// is the item of a lower priority that has been due for the longest time.
func (q *queue) take(now time.Time) (*item, bool) {
	if len(q.items) == 0 {
		q.waiting = true

		return nil, false
	}
	q.wake(now)
	best := q.best(func(a, b *item) int { return cmp.Or(b.priority-a.priority, a.order-b.order) })
	if best == nil {
		q.waiting = true

		return nil, false
	}
	other := q.best(func(a, b *item) int {
		if lower, lowerToo := a.priority < best.priority, b.priority < best.priority; lower != lowerToo {
			return map[bool]int{true: -1, false: 1}[lower]
		}

		return cmp.Or(a.due.Compare(b.due), a.first-b.first)
	})
	if other.priority < best.priority && !q.waiting { // only hand-outs to workers that did not wait are counted
		if q.passed++; q.passed >= share {
			q.passed, best = 0, other
		}
	}
	q.waiting = false
	delete(q.items, best.key)
	q.working[best.key] = true

	return best, true
}

// wake marks items that are due as ready.
func (q *queue) wake(now time.Time) {
	var woken []*item
	for _, i := range q.items {
		if !i.ready && !i.due.After(now) {
			woken = append(woken, i)
		}
	}
	slices.SortFunc(woken, func(a, b *item) int {
		return cmp.Or(a.due.Compare(b.due), b.priority-a.priority, a.order-b.order)
	})
	for _, i := range woken {
		i.ready, i.order = true, q.next()
	}
}

func (q *queue) next() int {
	q.added++

	return q.added
}

// best returns the first item that can be handed out.
func (q *queue) best(compare func(a, b *item) int) *item {
	var best *item
	for _, i := range q.items {
		if i.ready && !q.working[i.key] && (best == nil || compare(i, best) < 0) {
			best = i
		}
	}

	return best
}

// due returns when the next item is due.
func (q *queue) due() (time.Time, bool) {
	var first *item
	for _, i := range q.items {
		if !q.working[i.key] && (first == nil || i.due.Before(first.due)) {
			first = i
		}
	}
	if first == nil {
		return time.Time{}, false
	}

	return first.due, true
}
