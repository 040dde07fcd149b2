package controller

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

var lists = flag.Int("lists", 2000, "number of random lists of operations in TestQueueMatchesModel")

// TestQueueMatchesModel makes random calls of a queue and of a model, and wants the same items
// with the same priorities at the same times.
func TestQueueMatchesModel(t *testing.T) {
	turns := 0
	for seed := range uint64(*lists) {
		synctest.Test(t, func(t *testing.T) { turns += compare(t, seed) })
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}

	if turns < *lists/10 {
		t.Errorf("only %d turns of lower classes in %d lists: the lists prove little", turns, *lists)
	}
}

func compare(t *testing.T, seed uint64) int {
	random := rand.New(rand.NewPCG(seed, seed))
	limiter := func() workqueue.TypedRateLimiter[int] {
		return workqueue.NewTypedItemExponentialFailureRateLimiter[int](time.Second, 8*time.Second)
	}
	q, m := newQueue("", limiter(), nil), newModel(limiter())
	defer q.ShutDown()

	var trace []string
	out := make(chan handOut, 100)
	for range 80 {
		trace = append(trace, step(random, q, m, out))
		synctest.Wait()

		got := drain(out)
		want := m.take()
		slices.SortFunc(want, handOut.compare)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(handOut{})); diff != "" {
			t.Errorf("%q\n-want, +got:\n%s", trace, diff)

			return m.turns
		}
	}

	return m.turns
}

// step does one random operation with both and returns a description of it.
func step(random *rand.Rand, q *queue[int], m *model, out chan<- handOut) string {
	key := random.IntN(12)
	switch n := random.IntN(100); {
	case n < 35:
		o := randomOpts(random)
		items := []int{key, random.IntN(12)}[:1+random.IntN(2)]
		q.AddWithOpts(o, items...)
		m.add(o, items...)

		return fmt.Sprintf("add %v after %s, limited %t, %d", items, o.After, o.RateLimited, *o.Priority)
	case n < 65:
		if m.waiters == 3 {
			return ""
		}
		go func() {
			if key, priority, shutdown := q.GetWithPriority(); !shutdown {
				out <- handOut{key: key, priority: priority}
			}
		}()
		m.get()

		return "get"
	case n < 90:
		key, ok := m.busy(random)
		if !ok {
			return ""
		}
		q.Done(key)
		m.done(key)

		return fmt.Sprintf("done %d", key)
	case n < 93:
		q.Forget(key)
		m.limiter.Forget(key)

		return fmt.Sprintf("forget %d", key)
	default:
		d := time.Duration(random.IntN(5000)) * time.Millisecond
		<-time.After(d)
		m.advance(d)

		return fmt.Sprintf("wait %s", d)
	}
}

func randomOpts(random *rand.Rand) priorityqueue.AddOpts {
	priorities := []int{PriorityUser, PriorityUser, PriorityInProgress, PriorityErrorRetry, PriorityPoll,
		PriorityPoll, 7}
	o := priorityqueue.AddOpts{Priority: &priorities[random.IntN(len(priorities))]}
	if random.IntN(3) == 0 {
		o.After = time.Duration(random.IntN(4000)) * time.Millisecond
	}
	o.RateLimited = random.IntN(8) == 0

	return o
}

type handOut struct{ key, priority int }

func (h handOut) compare(other handOut) int { return h.key - other.key }

func drain(out <-chan handOut) []handOut {
	var got []handOut
	for len(out) > 0 {
		got = append(got, <-out)
	}
	slices.SortFunc(got, handOut.compare)

	return got
}

// model is a simple implementation of the queue: a list that is scanned.
type model struct {
	limiter  workqueue.TypedRateLimiter[int]
	now      time.Duration
	items    map[int]*modelItem
	working  map[int]bool
	waiters  int
	sequence int
	passed   int
	turns    int
	out      []handOut
}

type modelItem struct {
	key, priority int
	due           time.Duration
	ready         bool
	// order is the place among equals, first that among all that are due for as long.
	order, first int
	turn         bool
}

func newModel(l workqueue.TypedRateLimiter[int]) *model {
	return &model{limiter: l, items: map[int]*modelItem{}, working: map[int]bool{}}
}

func (m *model) next() int {
	m.sequence++

	return m.sequence
}

func (m *model) add(o priorityqueue.AddOpts, keys ...int) {
	for _, key := range keys {
		after := o.After
		if o.RateLimited {
			if wait := m.limiter.When(key); after == 0 || wait < after {
				after = wait
			}
		}
		m.addOne(key, *o.Priority, after)
	}
	m.serve()
}

func (m *model) addOne(key, priority int, after time.Duration) {
	due := m.now + after
	i, ok := m.items[key]
	if !ok {
		order := m.next()
		m.items[key] = &modelItem{key: key, priority: priority, due: due, ready: after == 0, order: order, first: order}

		return
	}
	i.due = min(i.due, due)
	i.ready = i.ready || after == 0
	if priority > i.priority {
		i.priority, i.order = priority, m.next()
	}
}

// get requests an item. Every tenth request serves a lower priority that waits.
func (m *model) get() {
	highest := m.best(func(a, b *modelItem) bool { return a.priority > b.priority })
	oldest := m.best(func(a, b *modelItem) bool {
		lower := a.priority < highest.priority
		if lower != (b.priority < highest.priority) {
			return lower
		}

		return a.due < b.due || a.due == b.due && a.first < b.first
	})
	if oldest != nil && oldest.priority < highest.priority {
		if m.passed++; m.passed == 10 {
			m.passed, oldest.turn = 0, true
			m.turns++
		}
	}
	m.waiters++
	m.serve()
}

func (m *model) done(key int) {
	delete(m.working, key)
	m.serve()
}

func (m *model) busy(random *rand.Rand) (int, bool) {
	var keys []int
	for key := range m.working {
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return 0, false
	}
	slices.Sort(keys)

	return keys[random.IntN(len(keys))], true
}

// advance advances the time step by step to each time at which an item becomes due.
func (m *model) advance(d time.Duration) {
	end := m.now + d
	for {
		m.now = end
		for _, i := range m.items {
			if !i.ready && i.due < m.now {
				m.now = i.due
			}
		}
		var woken []*modelItem
		for _, i := range m.items {
			if !i.ready && i.due <= m.now {
				woken = append(woken, i)
			}
		}
		slices.SortFunc(woken, func(a, b *modelItem) int {
			if a.priority != b.priority {
				return b.priority - a.priority
			}

			return a.order - b.order
		})
		for _, i := range woken {
			i.ready, i.order = true, m.next()
		}
		m.serve()
		if m.now == end {
			return
		}
	}
}

// serve hands out items while calls of get wait.
func (m *model) serve() {
	for m.waiters > 0 {
		i := m.best(func(a, b *modelItem) bool {
			if a.turn != b.turn {
				return a.turn
			}

			return a.priority > b.priority || a.priority == b.priority && a.order < b.order
		})
		if i == nil {
			return
		}
		delete(m.items, i.key)
		m.working[i.key] = true
		m.waiters--
		m.out = append(m.out, handOut{key: i.key, priority: i.priority})
	}
}

func (m *model) best(better func(a, b *modelItem) bool) *modelItem {
	var best *modelItem
	for _, i := range m.items {
		if i.ready && !m.working[i.key] && (best == nil || better(i, best)) {
			best = i
		}
	}

	return best
}

func (m *model) take() []handOut {
	out := m.out
	m.out = nil

	return out
}
