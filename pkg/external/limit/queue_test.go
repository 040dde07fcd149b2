package limit

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// enqueue makes requests wait, in this order. The function that it returns waits until
// all were let through, and returns their objects in that order.
func enqueue(t *testing.T, g *Gate, requests ...Request) func() []string {
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	for _, r := range requests {
		all.Go(func() {
			release, err := g.Acquire(t.Context(), r)
			if err != nil {
				t.Errorf("%s: %v", r.Object, err)

				return
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, r.Object)
			release(nil)
		})
		synctest.Wait()
		<-time.After(time.Microsecond)
	}

	return func() []string {
		all.Wait()

		return order
	}
}

// newSlowGate returns a gate of one call per second, at which calls may wait for an hour.
func newSlowGate(o ...Option) *Gate {
	return New(append([]Option{WithRate(1, 1, 1), WithMaxWait(time.Hour)}, o...)...)
}

// TestPriorityOrder checks the order in which waiting calls are let through.
func TestPriorityOrder(t *testing.T) {
	many := func(n int, r Request) []Request {
		var all []Request
		for i := range n {
			r.Object = fmt.Sprintf("%s%d", r.Namespace, i)
			all = append(all, r)
		}

		return all
	}

	cases := map[string]struct {
		reason   string
		requests []Request
		want     []string
	}{
		"Priorities": {
			reason: "Users go first, polls last; unknown priorities count as the nearest.",
			requests: []Request{
				{Object: "poll", Priority: Poll},
				{Object: "retry", Priority: Retry},
				{Object: "progress", Priority: Progress},
				{Object: "user", Priority: User},
				{Object: "beyond", Priority: User + 5},
				{Object: "below", Priority: Poll - 5},
			},
			want: []string{"user", "beyond", "progress", "retry", "poll", "below"},
		},
		"Namespaces": {
			reason:   "Namespaces take turns.",
			requests: append(many(4, Request{Namespace: "a"}), many(2, Request{Namespace: "b"})...),
			want:     []string{"a0", "b0", "a1", "b1", "a2", "a3"},
		},
		"LowerPriority": {
			reason: "The tenth call is that of a lower priority that has waited longest.",
			requests: append([]Request{{Object: "retry", Priority: Retry}, {Object: "progress", Priority: Progress}},
				many(11, Request{Namespace: "u", Priority: User})...),
			want: []string{"u0", "u1", "u2", "u3", "u4", "u5", "u6", "u7", "u8", "retry", "u9", "u10", "progress"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newSlowGate()
				through(t, g, nil)
				if diff := cmp.Diff(tc.want, enqueue(t, g, tc.requests...)()); diff != "" {
					t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestBurstReservedForUsers exhausts the burst with polls: one token is left for users.
func TestBurstReservedForUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(WithRate(10, 10, 10), WithMaxWait(0))
		for range 9 {
			release, err := g.Acquire(t.Context(), Request{})
			if err != nil {
				t.Fatal(err)
			}
			release(nil)
		}
		_, _ = refused(t, g, Request{})
		through(t, g, nil)
	})
}
