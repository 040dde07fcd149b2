package controller

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/moorage-dev/moorage/pkg/ratelimiter"
)

func rateLimited(t *testing.T, pace *rate.Limiter) *queue[string] {
	t.Helper()
	q := newQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[string](ratelimiter.BackOffBase,
		ratelimiter.BackOffMax), pace)
	t.Cleanup(q.ShutDown)

	return q
}

// TestRateLimitServesUserFirst adds a change of a user while workers wait with polls for a
// token: the change gets the next token.
func TestRateLimitServesUserFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := rateLimited(t, rate.NewLimiter(1, 2))
		for i := range 6 {
			add(q, PriorityPoll, fmt.Sprint(i))
		}

		start := q.clock.Now()
		var mu sync.Mutex
		var got []string
		for range 3 {
			go func() {
				for {
					item, priority, shutdown := q.GetWithPriority()
					if shutdown {
						return
					}
					mu.Lock()
					got = append(got, fmt.Sprintf("%s of %d after %s", item, priority,
						q.clock.Since(start).Round(time.Millisecond)))
					mu.Unlock()
					q.Done(item)
				}
			}()
		}
		<-time.After(2500 * time.Millisecond)
		add(q, PriorityUser, "user")
		add(q, PriorityErrorRetry, "retry")
		<-time.After(time.Minute)

		mu.Lock()
		defer mu.Unlock()
		want := []string{
			"0 of -100 after 0s", "1 of -100 after 0s", "2 of -100 after 1s", "3 of -100 after 2s",
			"user of 0 after 3s", "retry of -50 after 4s", "4 of -100 after 5s", "5 of -100 after 6s",
		}
		slices.Sort(got[:min(2, len(got))]) // two workers at the same time
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	})
}

// TestRateLimitIsShared: of two queues with one limiter, an empty one uses no tokens.
func TestRateLimitIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pace := rate.NewLimiter(1, 1)
		busy, idle := rateLimited(t, pace), rateLimited(t, pace)
		for range 5 {
			go func() { _, _ = idle.Get() }()
		}
		for i := range 3 {
			add(busy, PriorityUser, fmt.Sprint(i))
		}
		start := busy.clock.Now()
		for range 3 {
			next(busy)
		}
		if took := busy.clock.Since(start); took != 2*time.Second {
			t.Errorf("want an empty queue to use no tokens, took %s", took)
		}
	})
}

// TestRateLimitKeepsBackoff: an item that fails during a backlog keeps its own backoff.
func TestRateLimitKeepsBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := rateLimited(t, rate.NewLimiter(1, 1))
		for range 3 {
			q.AddRateLimited("fails")
			<-time.After(ratelimiter.BackOffMax)
			if item := next(q); item != "fails" {
				t.Fatalf("got %s", item)
			}
		}
		if got := q.NumRequeues("fails"); got != 3 {
			t.Errorf("got %d failures, want 3", got)
		}
	})
}

// TestShutDownReturnsToken: a caller that waits for a token when the queue is shut down
// returns it.
func TestShutDownReturnsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pace := rate.NewLimiter(rate.Every(time.Hour), 1)
		q := rateLimited(t, pace)
		add(q, PriorityUser, "a", "b")
		next(q)
		before := pace.TokensAt(q.clock.Now())
		var left sync.WaitGroup
		left.Go(func() {
			if item, shutdown := q.Get(); !shutdown {
				t.Errorf("got %s", item)
			}
		})
		synctest.Wait()
		q.ShutDown()
		left.Wait()
		if got := pace.TokensAt(q.clock.Now()); got != before {
			t.Errorf("want the token back, got %v, want %v", got, before)
		}
	})
}

// TestRateLimitLosesNoItem adds and processes items concurrently, so that items are claimed,
// put back and added again.
func TestRateLimitLosesNoItem(t *testing.T) {
	const keys, adds = 16, 2000

	synctest.Test(t, func(t *testing.T) {
		q := newQueue("", workqueue.NewTypedItemExponentialFailureRateLimiter[int](time.Microsecond,
			time.Millisecond), rate.NewLimiter(1000, 1))
		var added, seen [keys]atomic.Int64
		var handed atomic.Int64
		var workers sync.WaitGroup
		start := clock.RealClock{}.Now()
		for range 8 {
			workers.Go(func() {
				for {
					key, shutdown := q.Get()
					if shutdown {
						return
					}
					handed.Add(1)
					seen[key].Store(added[key].Load())
					q.Done(key)
				}
			})
		}
		for i := range adds {
			key, priority := (i*7)%keys, []int{PriorityUser, PriorityInProgress, PriorityErrorRetry, PriorityPoll}[i%4]
			added[key].Add(1)
			q.AddWithOpts(priorityqueue.AddOpts{
				Priority: &priority, After: time.Duration(i % 3), RateLimited: i%5 == 0,
			}, key)
			<-time.After(100 * time.Microsecond)
		}
		<-time.After(time.Second)
		for key := range keys {
			if got, want := seen[key].Load(), added[key].Load(); got != want {
				t.Errorf("%d was last worked on after it was added %d times, of %d", key, got, want)
			}
		}
		if most := int64(clock.RealClock{}.Since(start).Seconds()*1000) + 1; handed.Load() > most ||
			handed.Load() < 200 {
			t.Errorf("%d items were handed out, want at most %d", handed.Load(), most)
		}
		q.ShutDown()
		workers.Wait()
		if left := kept(q); left != 0 {
			t.Errorf("%d items are left", left)
		}
	})
}
