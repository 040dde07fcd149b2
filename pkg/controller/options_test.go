package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
)

// TestDefaultOptions checks the documented defaults.
func TestDefaultOptions(t *testing.T) {
	got := DefaultOptions()

	if diff := cmp.Diff(logging.NewNopLogger(), got.Logger,
		cmp.Comparer(func(a, b logging.Logger) bool { return a == b })); diff != "" {
		t.Errorf("logger\n-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(time.Minute, got.PollInterval); diff != "" {
		t.Errorf("poll interval\n-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(1, got.MaxConcurrentReconciles); diff != "" {
		t.Errorf("workers\n-want, +got:\n%s", diff)
	}

	bucket, ok := got.GlobalRateLimiter.(*workqueue.TypedBucketRateLimiter[any])
	if !ok {
		t.Fatalf("want a token bucket, got %T", got.GlobalRateLimiter)
	}
	if bucket.Limit() != rate.Limit(1) {
		t.Errorf("want one pass per second, got %v", bucket.Limit())
	}
}

// TestForControllerRuntime checks the number of workers.
func TestForControllerRuntime(t *testing.T) {
	cases := map[string]struct {
		reason string
		o      Options
		want   int
	}{
		"Zero":     {reason: "The zero value has one worker.", o: Options{}, want: 1},
		"Negative": {reason: "A negative number means one worker.", o: Options{MaxConcurrentReconciles: -1}, want: 1},
		"Some":     {reason: "A number is kept.", o: Options{MaxConcurrentReconciles: 7}, want: 7},
		"Default":  {reason: "The default is valid.", o: DefaultOptions(), want: 1},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.o.ForControllerRuntime().MaxConcurrentReconciles); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBackoffPerController: two controllers do not share the backoff of a name.
func TestBackoffPerController(t *testing.T) {
	o := DefaultOptions()
	first, second := o.ForControllerRuntime().RateLimiter, o.ForControllerRuntime().RateLimiter

	var got []time.Duration
	for range 7 {
		got = append(got, first.When(reconcile.Request{}))
	}
	want := []time.Duration{ratelimiter.BackOffBase, 2 * time.Second, 4 * time.Second, 8 * time.Second,
		16 * time.Second, 32 * time.Second, ratelimiter.BackOffMax}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("delays\n-want, +got:\n%s", diff)
	}

	if got := second.When(reconcile.Request{}); got != ratelimiter.BackOffBase {
		t.Errorf("want another controller to start at %s, got %s", ratelimiter.BackOffBase, got)
	}
}
