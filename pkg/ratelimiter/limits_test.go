package ratelimiter

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	testclock "k8s.io/utils/clock/testing"
)

func TestNewGlobal(t *testing.T) {
	type bucket struct {
		Rate  float64
		Burst int
	}

	cases := map[string]struct {
		reason string
		rps    int
		want   bucket
	}{
		"One":  {reason: "Ten times the rate at once.", rps: 1, want: bucket{Rate: 1, Burst: 10}},
		"Many": {reason: "Ten times the rate at once.", rps: 50, want: bucket{Rate: 50, Burst: 500}},
		"Zero": {
			reason: "A provider that does nothing is no use to anyone.", rps: 0,
			want: bucket{Rate: 1, Burst: 10},
		},
		"Negative": {reason: "The same.", rps: -3, want: bucket{Rate: 1, Burst: 10}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := NewGlobal(tc.rps)
			if diff := cmp.Diff(tc.want, bucket{Rate: float64(l.Limit()), Burst: l.Burst()}); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNewController(t *testing.T) {
	l := NewController()

	var got []time.Duration
	for range 8 {
		got = append(got, l.When("a")/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 60}, got); diff != "" {
		t.Errorf("seconds of delay\n-want, +got:\n%s", diff)
	}

	if got := l.When("b"); got != time.Second {
		t.Errorf("want another item to start at 1s, got %s", got)
	}
}

func TestLimitRESTConfig(t *testing.T) {
	type limits struct {
		QPS   float32
		Burst int
		Own   bool
	}

	cases := map[string]struct {
		reason string
		rps    int
		want   limits
	}{
		"Some": {reason: "A pass sends several requests.", rps: 10, want: limits{QPS: 50, Burst: 100}},
		"Zero": {
			reason: "Zero would mean the client's default of 5, below zero no limit.", rps: 0,
			want: limits{QPS: 5, Burst: 10},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := &rest.Config{
				Host: "https://server", QPS: 1, Burst: 2,
				RateLimiter: flowcontrol.NewFakeAlwaysRateLimiter(),
			}
			out := LimitRESTConfig(in, tc.rps)

			if diff := cmp.Diff(tc.want, limits{QPS: out.QPS, Burst: out.Burst,
				Own: out.RateLimiter != nil}); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if out.Host != in.Host {
				t.Errorf("want the rest copied, got host %q", out.Host)
			}
			if diff := cmp.Diff(limits{QPS: 1, Burst: 2, Own: true},
				limits{QPS: in.QPS, Burst: in.Burst, Own: in.RateLimiter != nil}); diff != "" {
				t.Errorf("the original was changed\n-want, +got:\n%s", diff)
			}
		})
	}
}

func TestGlobalExponential(t *testing.T) {
	// An attempt happens some seconds after the one before it.
	type attempt struct {
		after  int
		forget bool
		want   int
	}

	cases := map[string]struct {
		reason   string
		attempts []attempt
	}{
		"Failures": {
			reason: "Each failure doubles the delay, up to the longest.",
			attempts: []attempt{{want: 0}, {want: 1}, {after: 1, want: 2}, {after: 2, want: 4}, {after: 4, want: 8},
				{after: 8, want: 10}, {after: 10, want: 10}},
		},
		"Waited": {
			reason:   "Time that passed elsewhere counts.",
			attempts: []attempt{{want: 0}, {after: 1, want: 0}, {after: 1, want: 1}, {after: 9, want: 0}},
		},
		"Successes": {
			reason:   "A success is never delayed, however many there are.",
			attempts: []attempt{{want: 0}, {forget: true, want: 0}, {forget: true, want: 0}, {forget: true, want: 0}},
		},
		"Recovered": {
			reason: "A success ends the back-off.",
			attempts: []attempt{{want: 0}, {want: 1}, {after: 1, want: 2}, {after: 2, forget: true, want: 0},
				{want: 1}},
		},
		"Silence": {
			reason:   "After twice the longest delay nothing is known any more.",
			attempts: []attempt{{want: 0}, {want: 1}, {after: 21, want: 0}, {want: 1}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
			l := newExponential(time.Second, 10*time.Second, clock)

			for i, a := range tc.attempts {
				clock.SetTime(clock.Now().Add(time.Duration(a.after) * time.Second))
				if a.forget {
					l.Forget("a")
				}
				if got := l.When("a"); got != time.Duration(a.want)*time.Second {
					t.Errorf("%s\nattempt %d: want %ds, got %s", tc.reason, i, a.want, got)
				}
			}
		})
	}
}

func TestGlobalExponentialKeepsNothing(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Unix(0, 0))
	l := newExponential(time.Second, 10*time.Second, clock)

	for i := range 100 {
		l.When(i)
	}
	if got := l.NumRequeues(7); got != 1 {
		t.Errorf("want one attempt counted, got %d", got)
	}

	clock.SetTime(clock.Now().Add(20 * time.Second))
	l.When("new")
	if len(l.items) != 1 {
		t.Errorf("want only the new item to be kept, got %d", len(l.items))
	}
}

func TestGlobalExponentialDelayNeverOverflows(t *testing.T) {
	cases := map[string]struct {
		reason    string
		base, max time.Duration
		want      time.Duration
	}{
		"Capped": {
			reason: "A thousand failures are the longest delay.", base: time.Second,
			max: time.Minute, want: time.Minute,
		},
		"Huge": {reason: "Doubling stops before it overflows.", base: time.Second, max: 1<<63 - 1, want: 1<<63 - 1},
		"None": {reason: "Nothing doubled is nothing.", base: 0, max: time.Minute, want: 0},
		"Odd": {
			reason: "A first delay above the longest is the longest.", base: time.Hour,
			max: time.Minute, want: time.Minute,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newExponential(tc.base, tc.max, testclock.NewFakePassiveClock(time.Unix(0, 0)))
			if got := l.delay(1000); got != tc.want {
				t.Errorf("%s\nwant %s, got %s", tc.reason, tc.want, got)
			}
		})
	}
}
