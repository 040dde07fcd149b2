package connection

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestUnsure checks how long a connection is used while its revision is unknown. Each step
// advances the clock, makes a change and acquires a lease: it wants this connection, or an
// error if want is empty.
func TestUnsure(t *testing.T) {
	errTimeout, errGone := errors.New("timeout"), errors.New("gone")

	type step struct {
		pass     time.Duration
		fail     error  // the error of the resolver from now on; nil leaves it
		revision string // the revision from now on, without an error; empty leaves it
		build    error  // the error of the next build
		version  string
		want     string
	}
	unsure := Unsure(errTimeout)

	cases := map[string]struct {
		reason string
		steps  []step
		want   counts
	}{
		"Kept": {
			reason: "the connection is still used, and the revision resolved again after the failure interval",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
				{pass: 4 * time.Second, version: "1", want: "r1#1"},
				{pass: time.Second, version: "1", want: "r1#1"},
				{revision: "r1", pass: 5 * time.Second, version: "1", want: "r1#1"},
				{pass: 59 * time.Second, version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 4, Builds: 1},
		},
		"Rotated": {
			reason: "a change is noticed as soon as the revision is known",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
				{revision: "r2", pass: 5 * time.Second, version: "1", want: "r2#2"},
			},
			want: counts{Resolves: 3, Builds: 2, Closed: []string{"r1#1"}},
		},
		"Bounded": {
			reason: "after ten minutes the connection is not handed out until the revision is known",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
				{pass: 5 * time.Minute, version: "1", want: "r1#1"},
				{pass: 5*time.Minute - time.Second, version: "1", want: "r1#1"},
				{pass: 5 * time.Second, version: "1"},
				{pass: 5 * time.Second, version: "1"},
				{revision: "r1", pass: 5 * time.Second, version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 8, Builds: 1},
		},
		"AnsweredBetween": {
			reason: "each known revision restarts the ten minutes",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
				{revision: "r1", pass: 9 * time.Minute, version: "1", want: "r1#1"},
				{pass: time.Minute, fail: unsure, version: "1", want: "r1#1"},
				{pass: 9 * time.Minute, version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 5, Builds: 1},
		},
		"First": {
			reason: "there is no connection yet",
			steps: []step{
				{fail: unsure, version: "1"},
				{revision: "r1", pass: 5 * time.Second, version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 2, Builds: 1},
		},
		"Idle": {
			reason: "the connection was closed after the idle time",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: 10 * time.Minute, fail: unsure, version: "1"},
			},
			want: counts{Resolves: 2, Builds: 1, Closed: []string{"r1#1"}},
		},
		"NewVersion": {
			reason: "a connection of another version is not used",
			steps: []step{
				{version: "1", want: "r1#1"},
				{fail: unsure, version: "2"},
				{pass: 5 * time.Second, version: "2"},
				{revision: "r1", pass: 5 * time.Second, version: "2", want: "r1#1"},
			},
			want: counts{Resolves: 4, Builds: 1},
		},
		"AfterError": {
			reason: "an Unsure error does not undo another error",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, fail: errGone, version: "1"},
				{pass: 5 * time.Second, fail: unsure, version: "1"},
			},
			want: counts{Resolves: 3, Builds: 1},
		},
		"Build": {
			reason: "after an error of a build there is no connection to use, even if it is marked by Unsure",
			steps: []step{
				{version: "1", want: "r1#1"},
				{pass: time.Minute, revision: "r2", build: unsure, version: "1"},
				{pass: 5 * time.Second, version: "1", want: "r2#2"},
			},
			want: counts{Resolves: 3, Builds: 2, Closed: []string{"r1#1"}},
		},
		"BeforeError": {
			reason: "another error takes effect at once after an Unsure one",
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
					if s.revision != "" {
						w.resolveErr, w.revision = nil, s.revision
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

// TestWithUncertainty checks the option.
func TestWithUncertainty(t *testing.T) {
	w := newWorld()
	c := w.cache(t, WithUncertainty(10*time.Second), WithUncertainty(0))
	w.acquire(t, c, "1").Release()

	errTimeout := errors.New("timeout")
	w.set(func() { w.resolveErr = Unsure(errTimeout) })
	w.pass(time.Minute)
	w.acquire(t, c, "1").Release()
	w.pass(10 * time.Second)

	if _, err := c.Acquire(t.Context(), "key", "1", w.resolve); !errors.Is(err, errTimeout) {
		t.Errorf("after the time of the option: want %v, got %v", errTimeout, err)
	}
}

// TestUnsureError checks IsUnsure, and that the marked error is unchanged.
func TestUnsureError(t *testing.T) {
	errTimeout := errors.New("timeout")

	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Nil":     {"nothing went wrong", Unsure(nil), false},
		"Plain":   {"not marked", errTimeout, false},
		"Marked":  {"marked", Unsure(errTimeout), true},
		"Wrapped": {"a wrapped error is marked", errors.Wrap(Unsure(errTimeout), "cannot read"), true},
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
	if err := Unsure(errTimeout); !errors.Is(err, errTimeout) || err.Error() != errTimeout.Error() {
		t.Errorf("Unsure(...): %v, want the marked error", err)
	}
}
