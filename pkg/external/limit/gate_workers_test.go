package limit

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/external"
)

// TestSlowConnectionLeavesWorkers has ten workers poll a hundred objects over each of two
// connections, of which one serves too few calls or none. The objects of the other one
// are still polled every ten seconds.
func TestSlowConnectionLeavesWorkers(t *testing.T) {
	cases := map[string]struct {
		reason string
		slow   func(now time.Time) error
		every  time.Duration
	}{
		"Throttled": {
			reason: "a system that allows two calls a second",
			slow:   throttling(&bucket{rate: 2, size: 2}), every: 10 * time.Second,
		},
		"Busy": {
			reason: "a system that allows twelve calls a second and gets fifty",
			slow:   throttling(&bucket{rate: 12, size: 12}), every: 2 * time.Second,
		},
		"Down": {
			reason: "a system that is down",
			slow:   func(time.Time) error { return external.Unavailable(errBoom) },
			every:  10 * time.Second,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute)
				q := controller.NewQueue("", limiter).(priorityqueue.PriorityQueue[string])
				gates := NewSet()
				clock := gates.config.clock
				poll := controller.PriorityPoll
				for i := range objects {
					at := priorityqueue.AddOpts{Priority: &poll, After: time.Duration(i) * 10 * time.Second / objects}
					q.AddWithOpts(at, fmt.Sprintf("slow/%d", i), fmt.Sprintf("good/%d", i))
				}

				var mu sync.Mutex
				served := map[string]int{}
				pass := func(item string) time.Duration {
					connection, object, _ := strings.Cut(item, "/")
					release, err := gates.Gate(connection).Acquire(t.Context(), Request{Object: object})
					if err != nil {
						after, _ := external.AsRetryAfter(err)

						return after
					}
					<-time.After(latency)
					mu.Lock()
					defer mu.Unlock()
					every := 10 * time.Second
					if connection == "slow" {
						err, every = tc.slow(clock.Now()), tc.every
					}
					release(err)
					if err == nil {
						served[item]++
					}

					return every
				}
				var workers sync.WaitGroup
				for range 10 {
					workers.Go(func() {
						for {
							item, shutdown := q.Get()
							if shutdown {
								return
							}
							q.AddWithOpts(priorityqueue.AddOpts{Priority: &poll, After: pass(item)}, item)
							q.Done(item)
						}
					})
				}
				<-time.After(10 * time.Minute)
				q.ShutDown()
				workers.Wait()

				for i := range objects {
					if got := served[fmt.Sprintf("good/%d", i)]; got < 57 { // of sixty
						t.Errorf("beside %s, object %d was polled %d times in ten minutes", tc.reason, i, got)
					}
				}
			})
		})
	}
}

// throttling returns the results of calls to a system with this quota.
func throttling(q quota) func(time.Time) error {
	return func(now time.Time) error {
		if after, ok := q.call(now); !ok {
			return external.Throttled("", after, errTooMany)
		}

		return nil
	}
}
