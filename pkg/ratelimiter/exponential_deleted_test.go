package ratelimiter

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// many is the number of objects that are created and deleted; no state of them may remain.
const many = 100_000

// TestSuccessIsNotDelayed passes one object repeatedly through the exponential limiter: it
// never waits.
func TestSuccessIsNotDelayed(t *testing.T) {
	passes := 0
	r := New("test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		passes++

		return reconcile.Result{RequeueAfter: time.Minute}, nil
	}), NewGlobalExponential(time.Hour, 24*time.Hour))

	for range 1000 {
		result, err := r.Reconcile(t.Context(), request("a"))
		if err != nil || result.RequeueAfter != time.Minute {
			t.Fatalf("pass %d: got %v, %v; want what the pass itself returned", passes, result, err)
		}
	}

	if passes != 1000 {
		t.Errorf("%d passes of 1000 were handed on", passes)
	}
}

// TestFailureIsDelayedUntilSuccess fails three times and then succeeds, and is requeued
// as the limiter returns.
func TestFailureIsDelayedUntilSuccess(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
	failures := 3
	r := newReconciler("test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		if failures > 0 {
			failures--

			return reconcile.Result{}, errors.New("boom")
		}

		return reconcile.Result{}, nil
	}), newExponential(time.Second, time.Minute, clock), clock)

	var waited []time.Duration
	for range 9 {
		result, _ := r.Reconcile(t.Context(), request("a")) // An error is what the inner one returned.
		waited = append(waited, result.RequeueAfter/time.Second)
		clock.SetTime(clock.Now().Add(result.RequeueAfter))
	}

	if diff := cmp.Diff([]time.Duration{0, 1, 0, 2, 0, 4, 0, 0, 0}, waited); diff != "" {
		t.Errorf("seconds to wait\n-want, +got:\n%s", diff)
	}
}

func TestBackOffStartsAgainWhenForgotten(t *testing.T) {
	l := NewController()

	var got []time.Duration
	for range 7 {
		got = append(got, l.When("one")/time.Second)
	}
	l.Forget("one")
	got = append(got, l.When("one")/time.Second)

	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 1}, got); diff != "" {
		t.Errorf("seconds of delay\n-want, +got:\n%s", diff)
	}
	if n := l.NumRequeues("one"); n != 1 {
		t.Errorf("%d failures counted since, want 1", n)
	}
}

// TestManyDeletedObjects lets a thousand objects per second fail, be requeued and never
// reconcile again: the state is bounded by time, not by the number of objects.
func TestManyDeletedObjects(t *testing.T) {
	const perSecond = 1000

	t.Run("Exponential", func(t *testing.T) {
		clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
		l := newExponential(time.Second, 5*time.Second, clock)

		most := 0
		for i := range many {
			l.When(i)
			most = max(most, len(l.items))
			if i%perSecond == 0 {
				clock.SetTime(clock.Now().Add(time.Second))
			}
		}

		// Twice the longest delay until they are dropped, and as much between two sweeps.
		if limit := (4*5 + 1) * perSecond; most > limit {
			t.Errorf("%d items were kept at a time, want at most %d", most, limit)
		}

		clock.SetTime(clock.Now().Add(time.Minute))
		l.When("last")
		if len(l.items) != 1 {
			t.Errorf("%d items are left, want only the last", len(l.items))
		}
	})

	t.Run("Reconciler", func(t *testing.T) {
		clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
		r := newReconciler("test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, nil
		}), always(time.Second), clock)

		most := 0
		for i := range many {
			if _, err := r.Reconcile(t.Context(), request(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
			most = max(most, len(r.due))
			clock.SetTime(clock.Now().Add(time.Second))
		}

		if limit := 2*int(expiry/time.Second) + 2; most > limit {
			t.Errorf("%d requests were kept at a time, want at most %d", most, limit)
		}
	})

	t.Run("Succeeded", func(t *testing.T) {
		clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
		l := newExponential(time.Second, time.Minute, clock)
		r := newReconciler("test", reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			return reconcile.Result{}, nil
		}), l, clock)

		for i := range many {
			if _, err := r.Reconcile(t.Context(), request(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
			if len(r.due) != 0 || len(l.items) != 0 {
				t.Fatalf("after object %d: %d requests and %d items are kept of what succeeded", i, len(r.due),
					len(l.items))
			}
		}
	})
}
