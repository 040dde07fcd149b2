package connection

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestUnsure tells what becomes of a connection whose revision cannot be told.
// In each step time passes, then somebody changes something, and then a lease is
// asked for: on which connection, or "" for an error.
func TestUnsure(t *testing.T) {
	errHiccup, errGone := errors.New("hiccup"), errors.New("gone")

	type step struct {
		pass    time.Duration
		fail    error // what the resolver says from now on; nil goes on as before
		heal    string
		build   error // what the build of the next connection says
		version string
		want    string
	}
	unsure := Unsure(errHiccup)

	cases := map[string]struct {
		reason string
		steps  []step
		want   counts
	}{
		"Kept": {
			reason: "a hiccup takes the connection from nobody, and the next look comes after five seconds",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
				{pass: 4 * time.Second, version: "1", want: "r1#1"},
				{pass: time.Second, version: "1", want: "r1#1"},
				{heal: "r1", pass: 5 * time.Second, version: "1", want: "r1#1"},
				{pass: 59 * time.Second, version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 4, Builds: 1},
		},
		"Rotated": {
			reason: "what changed meanwhile is seen as soon as it can be",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
				{heal: "r2", pass: 5 * time.Second, version: "1", want: "r2#2"},
			},
			want: counts{Resolves: 3, Builds: 2, Closed: []string{"r1#1"}},
		},
		"Bounded": {
			reason: "after ten minutes of it nobody gets the connection, until there is an answer",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
				{pass: 5 * time.Minute, version: "1", want: "r1#1"},
				{pass: 5*time.Minute - time.Second, version: "1", want: "r1#1"},
				{pass: 5 * time.Second, version: "1"},
				{pass: 5 * time.Second, version: "1"},
				{heal: "r1", pass: 5 * time.Second, version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 8, Builds: 1},
		},
		"AnsweredBetween": {
			reason: "every answer begins the ten minutes anew",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
				{heal: "r1", pass: 9 * time.Minute, version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
				{pass: 9 * time.Minute, version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 5, Builds: 1},
		},
		"First": {
			reason: "without a connection there is nothing to keep",
			steps: []step{
				{fail: unsure, version: "1"},
				{heal: "r1", pass: 5 * time.Second, version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 2, Builds: 1},
		},
		"Idle": {
			reason: "nor is there when it was closed because nobody used it",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: 10 * time.Minute, fail: unsure, version: "1"},
			},
			want: counts{Resolves: 2, Builds: 1, Closed: []string{"r1#1"}},
		},
		"NewVersion": {
			reason: "a connection that was made for other settings is not good enough",
			steps: []step{
				{version: "1", want: "r1#1"},
				{fail: unsure, version: "2"},
				{pass: 5 * time.Second, version: "2"},
				{heal: "r1", pass: 5 * time.Second, version: "2", want: "r1#1"},
			},
			want: counts{Resolves: 4, Builds: 1},
		},
		"AfterRefusal": {
			reason: "a sure failure is not undone by an unsure one",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, fail: errGone, version: "1"},
				{pass: 5 * time.Second, fail: unsure, version: "1"},
			},
			want: counts{Resolves: 3, Builds: 1},
		},
		"Build": {
			reason: "a build that fails leaves nothing to keep, whatever it says",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, heal: "r2", build: unsure, version: "1"},
				{pass: 5 * time.Second, version: "1", want: "r2#2"},
			},
			want: counts{Resolves: 3, Builds: 2, Closed: []string{"r1#1"}},
		},
		"Refusal": {
			reason: "nor does it wait until an unsure one is over",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
				{pass: 5 * time.Second, fail: errGone, version: "1"},
			},
			want: counts{Resolves: 3, Builds: 1},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c := w.cache(t)

			for i, s := range tc.steps {
				w.pass(s.pass)
				w.set(func() {
					if s.fail != nil {
						w.resolveErr = s.fail
					}
					w.buildErr = s.build
					if s.heal != "" {
						w.resolveErr, w.revision = nil, s.heal
					}
				})

				got := ""
				lease, err := c.Acquire(t.Context(), "key", s.version, w.resolve)
				if err == nil {
					got = lease.Value()
					lease.Release()
				}
				if diff := cmp.Diff(s.want, got); diff != "" {
					t.Errorf("%s\nstep %d (%v): -want, +got:\n%s", tc.reason, i, err, diff)
				}
			}
			w.want(t, tc.reason, tc.want)
		})
	}
}

func TestUncertaintyOption(t *testing.T) {
	w := newWorld()
	c := w.cache(t, WithUncertainty(10*time.Second), WithUncertainty(0))
	w.acquire(t, c, "1").Release()

	errHiccup := errors.New("hiccup")
	w.set(func() { w.resolveErr = Unsure(errHiccup) })
	w.pass(time.Minute)
	w.acquire(t, c, "1").Release()
	w.pass(10 * time.Second)

	if _, err := c.Acquire(t.Context(), "key", "1", w.resolve); !errors.Is(err, errHiccup) {
		t.Errorf("after the time that was set: want %v, got %v", errHiccup, err)
	}
}

func TestUnsureError(t *testing.T) {
	errHiccup := errors.New("hiccup")

	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Nil":     {"nothing went wrong", Unsure(nil), false},
		"Plain":   {"nobody marked it", errHiccup, false},
		"Marked":  {"marked", Unsure(errHiccup), true},
		"Wrapped": {"marked further down", errors.Wrap(Unsure(errHiccup), "cannot read"), true},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := IsUnsure(tc.err); got != tc.want {
				t.Errorf("%s\nIsUnsure(%v): want %t, got %t", tc.reason, tc.err, tc.want, got)
			}
		})
	}

	if err := Unsure(nil); err != nil {
		t.Errorf("Unsure(nil): %v", err)
	}
	if err := Unsure(errHiccup); !errors.Is(err, errHiccup) || err.Error() != errHiccup.Error() {
		t.Errorf("Unsure(...): %v, want what was given", err)
	}
}
