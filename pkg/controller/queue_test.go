package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// inBubble runs a test with a queue of names, in virtual time, and again with one that has a
// rate limit which is high enough.
func inBubble(t *testing.T, test func(t *testing.T, q *queue[string])) {
	t.Helper()
	for name, pace := range map[string]*rate.Limiter{"NoPace": nil, "Pace": rate.NewLimiter(rate.Inf, 0)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := rateLimited(t, pace)
				test(t, q)
				q.ShutDown()
			})
		})
	}
}

func add(q *queue[string], priority int, items ...string) {
	q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, items...)
	synctest.Wait()
}

// next gets an item and marks it as processed at once.
func next(q *queue[string]) string {
	item, _, _ := q.GetWithPriority()
	q.Done(item)
	synctest.Wait()

	return item
}

// TestLowerPriorityIsServed: while there are always changes of a user, one of ten items is
// from the backlogs of two lower priorities, the one that has been due longest.
func TestLowerPriorityIsServed(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue[string]) {
		var want []string
		for i := range 10 {
			class := []int{PriorityPoll, PriorityErrorRetry}[i%2]
			name := fmt.Sprintf("%d of %d", i, class)
			add(q, class, name)
			want = append(want, name)
			<-time.After(time.Millisecond)
		}

		var got []string
		for n := range 100 {
			add(q, PriorityUser, "user")
			if item := next(q); item != "user" {
				got = append(got, item)
				if n%lowerPriorityInterval != lowerPriorityInterval-1 {
					t.Errorf("hand-out %d went to %s, not to the user", n, item)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("items of lower priorities\n-want, +got:\n%s", diff)
		}
	})
}

// TestUserBeforeBacklog: after any number of polls, the next nine changes of users are served
// first.
func TestUserBeforeBacklog(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue[string]) {
		for i := range 1000 {
			add(q, PriorityPoll, fmt.Sprintf("poll %d", i))
		}
		for range 500 {
			next(q)
		}
		for range lowerPriorityInterval - 1 {
			add(q, PriorityUser, "user")
			if item := next(q); item != "user" {
				t.Errorf("got %s before the user", item)
			}
		}
	})
}

// TestPromotedItemKeepsPriority: an item is returned with its own priority, also when it was
// promoted.
func TestPromotedItemKeepsPriority(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue[string]) {
		add(q, PriorityPoll, "poll")
		for range lowerPriorityInterval - 1 {
			add(q, PriorityUser, "user")
			next(q)
		}
		add(q, PriorityUser, "user")

		item, priority, _ := q.GetWithPriority()
		if item != "poll" || priority != PriorityPoll {
			t.Errorf("got %s of %d, want poll of %d", item, priority, PriorityPoll)
		}
	})
}

// TestProcessedItemIsNotPromoted: an item is not handed out while it is being processed.
func TestProcessedItemIsNotPromoted(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue[string]) {
		add(q, PriorityPoll, "poll")
		if item, _ := q.Get(); item != "poll" {
			t.Fatalf("got %s, want poll", item)
		}
		add(q, PriorityPoll, "poll")

		for range 2 * lowerPriorityInterval {
			add(q, PriorityUser, "user")
			if item := next(q); item != "user" {
				t.Errorf("got %s, while it is being processed", item)
			}
		}

		q.Done("poll")
		if item := next(q); item != "poll" {
			t.Errorf("got %s, want poll, which was added while it was being processed", item)
		}
	})
}

// TestDuplicateIsDropped: the wrapped queue has an item that was handed out already, as
// happens when it is added at the same time. It is not handed out twice.
func TestDuplicateIsDropped(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue[string]) {
		turn := priorityPromoted
		q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: &turn}, "ghost")
		add(q, PriorityPoll, "poll")
		add(q, PriorityUser, "user 1", "user 2", "user 3")

		var got []string
		for range 4 {
			got = append(got, next(q))
		}
		if diff := cmp.Diff([]string{"user 1", "poll", "user 2", "user 3"}, got); diff != "" {
			t.Errorf("the next item is promoted instead\n-want, +got:\n%s", diff)
		}
	})
}

// TestEarlyItemIsDelayed: the wrapped queue has an item that is due later by now.
func TestEarlyItemIsDelayed(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue[string]) {
		start := time.Now()
		poll := PriorityPoll
		q.AddWithOpts(priorityqueue.AddOpts{After: time.Minute, Priority: &poll}, "poll")
		q.PriorityQueue.Add("poll")

		item, priority, _ := q.GetWithPriority()
		if item != "poll" || priority != PriorityPoll {
			t.Errorf("got %s of %d, want poll of %d", item, priority, PriorityPoll)
		}
		if waited := time.Since(start); waited != time.Minute {
			t.Errorf("got it after %s, want %s", waited, time.Minute)
		}
	})
}

// TestBackoffPerItem counts the failures of each item separately.
func TestBackoffPerItem(t *testing.T) {
	inBubble(t, func(t *testing.T, q *queue[string]) {
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			q.AddRateLimited("fails")
			q.AddAfter("other", time.Millisecond)
			if item := next(q); item != "other" {
				t.Fatalf("got %s, want other", item)
			}
			start := time.Now()
			if item := next(q); item != "fails" {
				t.Fatalf("got %s, want fails", item)
			}
			if got := time.Since(start) + time.Millisecond; got != want {
				t.Errorf("waited %s, want %s", got, want)
			}
		}
		if got := q.NumRequeues("fails"); got != 3 {
			t.Errorf("got %d failures, want 3", got)
		}
		q.Forget("fails")
		if got := q.NumRequeues("fails"); got != 0 {
			t.Errorf("got %d failures, want them forgotten", got)
		}
	})
}

// TestShutDown: calls of Get end, and later additions are dropped.
func TestShutDown(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *queue[string]) {
		q := newQueue("", workqueue.DefaultTypedControllerRateLimiter[string](), nil)
		var left sync.WaitGroup
		for range 3 {
			left.Go(func() {
				if item, shutdown := q.Get(); !shutdown {
					t.Errorf("got %s from a queue that was empty", item)
				}
			})
		}
		synctest.Wait()
		q.ShutDown()
		left.Wait()
		q.ShutDown()
		q.ShutDownWithDrain()

		q.Add("late")
		if len(q.entries) != 0 || !q.ShuttingDown() {
			t.Errorf("want a queue that takes nothing, got %v", q.entries)
		}
	})
}

// TestMaxLevels adds many more priorities than the queue distinguishes.
func TestMaxLevels(t *testing.T) {
	const name = "classes"
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(name, workqueue.DefaultTypedControllerRateLimiter[string](), nil)
		defer q.ShutDown()

		for i := -200; i <= 2*priorityPromoted; i += 10 {
			add(q, i, fmt.Sprint(i))
		}
		add(q, PriorityPoll, "poll")
		last := priorityPromoted
		for range q.Len() {
			item, priority, _ := q.GetWithPriority()
			q.Done(item)
			if priority >= priorityPromoted {
				t.Errorf("%s is handed out with %d, which is reserved", item, priority)
			}
			if item == "poll" && priority != PriorityPoll {
				t.Errorf("a poll is handed out with %d", priority)
			}
			last = min(last, priority)
		}
		if got := len(q.levels); got > maxLevels {
			t.Errorf("%d levels, want at most %d", got, maxLevels)
		}
		if last != -200 {
			t.Errorf("want a few other priorities kept as they are, got %d for -200", last)
		}
	})

	for _, label := range depths(t, name) {
		if label.priority == "exceeded_cardinality_limit" || label.depth != 0 {
			t.Errorf("want depths of known priorities, all empty, got %+v", label)
		}
	}
}

type depth struct {
	priority string
	depth    float64
}

// depths reads the metric workqueue_depth of a queue.
func depths(t *testing.T, name string) []depth {
	t.Helper()

	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []depth
	for _, family := range families {
		if family.GetName() != "workqueue_depth" {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["name"] == name {
				got = append(got, depth{priority: labels["priority"], depth: m.GetGauge().GetValue()})
			}
		}
	}

	return got
}

// TestMetrics: the metric of the depth has the priorities, as that of controller-runtime.
func TestMetrics(t *testing.T) {
	const name = "depth"
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(name, workqueue.DefaultTypedControllerRateLimiter[string](), nil)
		defer q.ShutDown()
		add(q, PriorityPoll, "a", "b", "c")
		add(q, PriorityUser, "d")
		add(q, PriorityUser, "a")

		want := []depth{{priority: "-100", depth: 2}, {priority: "0", depth: 2}}
		if diff := cmp.Diff(want, depths(t, name), cmp.AllowUnexported(depth{})); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
		for range q.Len() {
			next(q)
		}
		want = []depth{{priority: "-100"}, {priority: "0"}}
		if diff := cmp.Diff(want, depths(t, name), cmp.AllowUnexported(depth{})); diff != "" {
			t.Errorf("when it is empty\n-want, +got:\n%s", diff)
		}
	})
}

// TestNoItemIsLost adds and processes few items concurrently: each is processed after it was
// last added, and never twice at the same time.
func TestNoItemIsLost(t *testing.T) {
	const keys, adds = 16, 20_000

	synctest.Test(t, func(t *testing.T) {
		q := newQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[int](time.Microsecond,
			time.Millisecond), nil)
		var added, seen [keys]atomic.Int64
		var busy [keys]atomic.Bool

		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				for {
					key, shutdown := q.Get()
					if shutdown {
						return
					}
					if busy[key].Swap(true) {
						t.Errorf("%d is processed twice at the same time", key)
					}
					seen[key].Store(added[key].Load())
					busy[key].Store(false)
					q.Done(key)
				}
			})
		}
		var users sync.WaitGroup
		for user := range 4 {
			users.Go(func() {
				for i := range adds {
					key := (i*7 + user) % keys
					priority := []int{PriorityUser, PriorityInProgress, PriorityErrorRetry, PriorityPoll}[(i+user)%4]
					added[key].Add(1)
					q.AddWithOpts(priorityqueue.AddOpts{
						Priority: &priority, After: time.Duration(i % 3), RateLimited: i%5 == 0,
					}, key)
				}
			})
		}
		users.Wait()
		<-time.After(time.Second)
		synctest.Wait()

		for key := range keys {
			if got, want := seen[key].Load(), added[key].Load(); got != want {
				t.Errorf("%d was last worked on after it was added %d times, of %d", key, got, want)
			}
		}
		q.ShutDown()
		workers.Wait()
	})
}

// TestMemoryIsBounded: items that were processed leave no state.
func TestMemoryIsBounded(t *testing.T) {
	const many = 100_000

	synctest.Test(t, func(t *testing.T) {
		q := newQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[int](time.Second, time.Minute), nil)
		defer q.ShutDown()
		priorities := []int{PriorityUser, PriorityPoll}
		for i := range many {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &priorities[i%2], RateLimited: i%100 == 0}, i)
			if i%100 == 0 {
				<-time.After(time.Second)
			}
			item, _ := q.Get()
			q.Forget(item)
			q.Done(item)
		}

		if left := q.Len() + kept(q); left != 0 {
			t.Errorf("%d items are left", left)
		}
	})
}

// kept returns the number of items that a queue has state of.
func kept[T comparable](q *queue[T]) int {
	n := len(q.entries) + len(q.working)
	for _, c := range q.levels {
		n += len(c.entries)
	}

	return n
}

// TestControllerKeepsPriorities runs a controller of controller-runtime with the options of
// this package: it applies the priorities that its reconciler returns.
func TestControllerKeepsPriorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request := func(name string) reconcile.Request {
			return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
		}
		var passes []string
		o := DefaultOptions().ForControllerRuntime()
		o.SkipNameValidation = new(true)
		o.Reconciler = reconcile.Func(func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			passes = append(passes, r.Name)
			poll := PriorityPoll
			if strings.HasPrefix(r.Name, "poll") && !slices.Contains(passes[:len(passes)-1], r.Name) {
				return reconcile.Result{RequeueAfter: time.Minute, Priority: &poll}, nil
			}

			return reconcile.Result{}, nil
		})
		c, err := controller.NewUnmanaged("kept", o)
		if err != nil {
			t.Fatal(err)
		}
		err = c.Watch(source.Func(func(_ context.Context,
			q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			q.Add(request("poll 1"))
			q.Add(request("poll 2"))
			q.AddAfter(request("user"), time.Minute)

			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if err := c.Start(ctx); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"poll 1", "poll 2", "user", "poll 1", "poll 2"}, passes); diff != "" {
			t.Errorf("order of the items\n-want, +got:\n%s", diff)
		}
	})
}
