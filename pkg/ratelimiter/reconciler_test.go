package ratelimiter

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// script is a limiter that returns the given delays, then zero, and records its calls.
type script struct {
	delays []time.Duration
	calls  []string
}

func (s *script) When(item any) time.Duration {
	s.calls = append(s.calls, "When "+item.(string))
	if len(s.delays) == 0 {
		return 0
	}
	wait := s.delays[0]
	s.delays = s.delays[1:]

	return wait
}

func (s *script) Forget(item any)     { s.calls = append(s.calls, "Forget "+item.(string)) }
func (s *script) NumRequeues(any) int { return 0 }

// step is a pass of a request, some time after the previous one.
type step struct {
	after time.Duration
	name  string
}

// answer is the result of a step.
type answer struct {
	Passed bool
	Wait   time.Duration
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "apps", Name: name}}
}

func TestReconcile(t *testing.T) {
	passed := answer{Passed: true}

	cases := map[string]struct {
		reason string
		delays []time.Duration
		steps  []step
		want   []answer
		calls  []string
	}{
		"Allowed": {
			reason: "A request within the limit passes, and is forgotten when it succeeded.",
			steps:  []step{{name: "a"}},
			want:   []answer{passed},
			calls:  []string{"When test/apps/a", "Forget test/apps/a"},
		},
		"InTime": {
			reason: "One that was told to wait passes when its time has come, without being charged again.",
			delays: []time.Duration{3 * time.Second, time.Hour},
			steps:  []step{{name: "a"}, {after: 3 * time.Second, name: "a"}},
			want:   []answer{{Wait: 3 * time.Second}, passed},
			calls:  []string{"When test/apps/a", "Forget test/apps/a"},
		},
		"Early": {
			reason: "One that comes early waits for the rest, and is not charged again.",
			delays: []time.Duration{3 * time.Second, time.Hour},
			steps:  []step{{name: "a"}, {after: time.Second, name: "a"}, {after: 2 * time.Second, name: "a"}},
			want:   []answer{{Wait: 3 * time.Second}, {Wait: 2 * time.Second}, passed},
			calls:  []string{"When test/apps/a", "Forget test/apps/a"},
		},
		"Late": {
			reason: "A busy queue brings it late: it has waited long enough.",
			delays: []time.Duration{3 * time.Second, time.Hour},
			steps:  []step{{name: "a"}, {after: 50 * time.Minute, name: "a"}},
			want:   []answer{{Wait: 3 * time.Second}, passed},
			calls:  []string{"When test/apps/a", "Forget test/apps/a"},
		},
		"Again": {
			reason: "Having passed once buys no second pass.",
			delays: []time.Duration{time.Second, 2 * time.Second},
			steps:  []step{{name: "a"}, {after: time.Second, name: "a"}, {name: "a"}},
			want:   []answer{{Wait: time.Second}, passed, {Wait: 2 * time.Second}},
			calls:  []string{"When test/apps/a", "Forget test/apps/a", "When test/apps/a"},
		},
		"Others": {
			reason: "Others are asked for on their own.",
			delays: []time.Duration{time.Second},
			steps:  []step{{name: "a"}, {name: "b"}, {name: "a"}},
			want:   []answer{{Wait: time.Second}, passed, {Wait: time.Second}},
			calls:  []string{"When test/apps/a", "When test/apps/b", "Forget test/apps/b"},
		},
		"Never": {
			reason: "What a bucket that holds nothing answers is a day, not an overflow.",
			delays: []time.Duration{math.MaxInt64},
			steps:  []step{{name: "a"}, {after: time.Second, name: "a"}, {after: 24 * time.Hour, name: "a"}},
			want:   []answer{{Wait: 24 * time.Hour}, {Wait: 24*time.Hour - time.Second}, passed},
			calls:  []string{"When test/apps/a", "Forget test/apps/a"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
			limiter := &script{delays: tc.delays}
			inner := false
			r := newReconciler("test", reconcile.Func(func(context.Context,
				reconcile.Request) (reconcile.Result, error) {
				inner = true
				return reconcile.Result{}, nil
			}), limiter, clock)

			var got []answer
			for _, s := range tc.steps {
				clock.SetTime(clock.Now().Add(s.after))
				inner = false
				result, err := r.Reconcile(t.Context(), request(s.name))
				if err != nil {
					t.Fatalf("Reconcile(...): %v", err)
				}
				got = append(got, answer{Passed: inner, Wait: result.RequeueAfter})
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.calls, limiter.calls); diff != "" {
				t.Errorf("%s\n-want calls, +got calls:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReconcileReturnsInner(t *testing.T) {
	errBoom := errors.New("boom")

	cases := map[string]struct {
		reason string
		result reconcile.Result
		err    error
		calls  []string
	}{
		"Success": {
			reason: "A success is forgotten.",
			result: reconcile.Result{RequeueAfter: time.Minute},
			calls:  []string{"When test/apps/a", "Forget test/apps/a"},
		},
		"Failure": {
			reason: "A failure is not: the limiter may count it.",
			err:    errBoom,
			calls:  []string{"When test/apps/a"},
		},
		"Conflict": {
			reason: "Requeue is how a failure is reported without an error.",
			result: reconcile.Result{Requeue: true}, //nolint:staticcheck // The deprecated field is what is tested.
			calls:  []string{"When test/apps/a"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			limiter := &script{}
			r := New("test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				return tc.result, tc.err
			}), limiter)

			result, err := r.Reconcile(t.Context(), request("a"))
			if !errors.Is(err, tc.err) {
				t.Errorf("%s\nwant error %v, got %v", tc.reason, tc.err, err)
			}
			if diff := cmp.Diff(tc.result, result); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.calls, limiter.calls); diff != "" {
				t.Errorf("%s\n-want calls, +got calls:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBucket lets forty objects, each of them touched every half second, go
// through the real bucket: ten at once, then one per second, none of them twice.
func TestBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 40
		start := time.Now()
		passed := map[string]time.Duration{}
		r := New("test", reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			passed[req.Name] = time.Since(start)
			return reconcile.Result{}, nil
		}), NewGlobal(1))

		name := func(i int) string { return string(rune('A' + i)) }
		for range 2 * objects {
			for i := range objects {
				if _, ok := passed[name(i)]; ok {
					continue
				}
				if _, err := r.Reconcile(t.Context(), request(name(i))); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(500 * time.Millisecond)
		}

		want := map[string]time.Duration{}
		for i := range objects {
			want[name(i)] = time.Duration(max(0, i-9)) * time.Second
		}
		if diff := cmp.Diff(want, passed); diff != "" {
			t.Errorf("when objects passed\n-want, +got:\n%s", diff)
		}
		if len(r.due) != 0 {
			t.Errorf("want nothing kept after all passed, got %d entries", len(r.due))
		}
	})
}

// TestOnePassPerTurn calls one reconciler a hundred times concurrently for the same
// object: one of the calls uses the token.
func TestOnePassPerTurn(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
	var passes atomic.Int32
	r := newReconciler("test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		passes.Add(1)
		return reconcile.Result{}, nil
	}), always(time.Second), clock)

	for turn := range 5 {
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := r.Reconcile(t.Context(), request("a")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()

		if got := int(passes.Load()); got != turn {
			t.Errorf("after turn %d: want %d passes, got %d", turn, turn, got)
		}
		clock.SetTime(clock.Now().Add(time.Second))
	}
}

// always is a limiter that returns the same delay for all.
type always time.Duration

func (a always) When(any) time.Duration { return time.Duration(a) }
func (a always) Forget(any)             {}
func (a always) NumRequeues(any) int    { return 0 }

func TestGoneObjectsAreDropped(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
	r := newReconciler("test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	}), always(time.Second), clock)

	for i := range 1000 {
		if _, err := r.Reconcile(t.Context(), request(string(rune(i)))); err != nil {
			t.Fatal(err)
		}
	}
	clock.SetTime(clock.Now().Add(expiry + time.Second))
	if _, err := r.Reconcile(t.Context(), request("new")); err != nil {
		t.Fatal(err)
	}

	if len(r.due) != 1 {
		t.Errorf("want only the new request to be kept, got %d", len(r.due))
	}
}

// TestKeepBackOff plays what a controller does with its queue's limiter for an
// object that always fails, and is throttled before each attempt.
func TestKeepBackOff(t *testing.T) {
	cases := map[string]struct {
		reason string
		keep   bool
		want   []time.Duration
	}{
		"Kept":  {reason: "Throttling does not touch the back-off.", keep: true, want: []time.Duration{1, 2, 4, 8}},
		"Plain": {reason: "This is what it is for.", keep: false, want: []time.Duration{1, 1, 1, 1}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
			fails := true
			r := newReconciler("test", reconcile.Func(func(context.Context,
				reconcile.Request) (reconcile.Result, error) {
				if fails {
					return reconcile.Result{}, errors.New("boom")
				}
				return reconcile.Result{}, nil
			}), always(time.Second), clock)

			queue := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](1, 60)
			if tc.keep {
				queue = r.KeepBackOff(queue)
			}

			var got []time.Duration
			for range 2 * len(tc.want) {
				if _, err := r.Reconcile(t.Context(), request("a")); err != nil {
					got = append(got, queue.When(request("a")))
				} else {
					queue.Forget(request("a"))
				}
				clock.SetTime(clock.Now().Add(time.Second))
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			fails = false
			for range 2 {
				if _, err := r.Reconcile(t.Context(), request("a")); err != nil {
					t.Fatal(err)
				}
				queue.Forget(request("a"))
				clock.SetTime(clock.Now().Add(time.Second))
			}
			if n := queue.NumRequeues(request("a")); n != 0 {
				t.Errorf("want a success to end the back-off, got %d failures", n)
			}
		})
	}
}
