package connection

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestAcquire checks when a connection is reused, resolved again and built again. Each
// step makes a change, acquires a lease and releases it. It wants this connection, or
// an error if want is empty.
func TestAcquire(t *testing.T) {
	errBoom := errors.New("boom")

	type step struct {
		change  func(w *world, c *Cache[string])
		version string
		want    string
	}
	after := func(d time.Duration) func(*world, *Cache[string]) {
		return func(w *world, _ *Cache[string]) { w.pass(d) }
	}
	recheck := func(_ *world, c *Cache[string]) { c.Recheck("key") }

	cases := map[string]struct {
		reason string
		steps  []step
		want   counts
	}{
		"Reused": {
			reason: "Within the recheck interval the revision is not resolved.",
			steps: []step{
				{version: "1", want: "r1#1"},
				{change: after(59 * time.Second), version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 1, Builds: 1},
		},
		"RecheckInterval": {
			reason: "After the recheck interval the revision is resolved; the same one keeps the connection.",
			steps: []step{
				{version: "1", want: "r1#1"},
				{change: after(time.Minute), version: "1", want: "r1#1"},
				{change: after(59 * time.Second), version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 2, Builds: 1},
		},
		"Rotated": {
			reason: "A rotated Secret is noticed after the recheck interval.",
			steps: []step{
				{version: "1", want: "r1#1"},
				{change: func(w *world, _ *Cache[string]) { w.revision = "r2" }, version: "1", want: "r1#1"},
				{change: after(time.Minute), version: "1", want: "r2#2"},
			},
			want: counts{Resolves: 2, Builds: 2, Closed: []string{"r1#1"}},
		},
		"NewVersion": {
			reason: "A new version is resolved at once; the same revision keeps the connection.",
			steps: []step{
				{version: "1", want: "r1#1"},
				{version: "2", want: "r1#1"},
				{version: "2", want: "r1#1"},
			},
			want: counts{Resolves: 2, Builds: 1},
		},
		"Recheck": {
			reason: "Recheck has an effect at once, and once.",
			steps: []step{
				{version: "1", want: "r1#1"},
				{
					change:  func(w *world, c *Cache[string]) { w.revision = "r2"; c.Recheck("key") },
					version: "1", want: "r2#2",
				},
				{version: "1", want: "r2#2"},
			},
			want: counts{Resolves: 2, Builds: 2, Closed: []string{"r1#1"}},
		},
		"RecheckRateLimited": {
			reason: "A second Recheck has no effect within the failure interval.",
			steps: []step{
				{version: "1", want: "r1#1"},
				{change: recheck, version: "1", want: "r1#1"},
				{change: recheck, version: "1", want: "r1#1"},
				{change: after(4 * time.Second), version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 2, Builds: 1},
		},
		"RecheckCoalesced": {
			reason: "All calls of Recheck within the failure interval cause one build after it.",
			steps: []step{
				{version: "1", want: "r1#1"},
				{change: recheck, version: "1", want: "r1#1"},
				{change: recheck, version: "1", want: "r1#1"},
				{change: recheck, version: "1", want: "r1#1"},
				{change: after(5 * time.Second), version: "1", want: "r1#1"},
				{change: after(5 * time.Second), version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 3, Builds: 1},
		},
		"RecheckUnknown": {
			reason: "An unknown key is ignored.",
			steps:  []step{{change: recheck, version: "1", want: "r1#1"}, {version: "1", want: "r1#1"}},
			want:   counts{Resolves: 1, Builds: 1},
		},
		"ResolveFails": {
			reason: "An error is cached for the failure interval.",
			steps: []step{
				{change: func(w *world, _ *Cache[string]) { w.resolveErr = errBoom }, version: "1"},
				{
					change:  func(w *world, _ *Cache[string]) { w.resolveErr = nil; w.pass(4 * time.Second) },
					version: "1",
				},
				{change: after(time.Second), version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 2, Builds: 1},
		},
		"ResolveFailsNewVersion": {
			reason: "A cached error is not returned for a new version.",
			steps: []step{
				{change: func(w *world, _ *Cache[string]) { w.resolveErr = errBoom }, version: "1"},
				{change: func(w *world, _ *Cache[string]) { w.resolveErr = nil }, version: "2", want: "r1#1"},
			},
			want: counts{Resolves: 2, Builds: 1},
		},
		"ResolveFailsLater": {
			reason: "A connection is not used while its credentials cannot be read, and used again afterwards.",
			steps: []step{
				{version: "1", want: "r1#1"},
				{
					change:  func(w *world, _ *Cache[string]) { w.resolveErr = errBoom; w.pass(time.Minute) },
					version: "1",
				},
				{
					change:  func(w *world, _ *Cache[string]) { w.resolveErr = nil; w.pass(5 * time.Second) },
					version: "1", want: "r1#1",
				},
			},
			want: counts{Resolves: 3, Builds: 1},
		},
		"BuildFails": {
			reason: "An error of a build is cached, too.",
			steps: []step{
				{change: func(w *world, _ *Cache[string]) { w.buildErr = errBoom }, version: "1"},
				{change: func(w *world, _ *Cache[string]) { w.buildErr = nil; w.pass(4 * time.Second) }, version: "1"},
				{change: after(time.Second), version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 2, Builds: 1},
		},
		"BuildFailsLater": {
			reason: "A connection with an outdated revision is not used, even if there is no other.",
			steps: []step{
				{version: "1", want: "r1#1"},
				{change: func(w *world, _ *Cache[string]) { w.revision, w.buildErr = "r2", errBoom }, version: "2"},
				{
					change:  func(w *world, _ *Cache[string]) { w.buildErr = nil; w.pass(5 * time.Second) },
					version: "2", want: "r2#2",
				},
			},
			want: counts{Resolves: 3, Builds: 2, Closed: []string{"r1#1"}},
		},
		"Idle": {
			reason: "An unused connection is closed after the idle time, and built again when needed.",
			steps: []step{
				{version: "1", want: "r1#1"},
				{change: after(10 * time.Minute), version: "1", want: "r1#2"},
			},
			want: counts{Resolves: 2, Builds: 2, Closed: []string{"r1#1"}},
		},
		"NotIdle": {
			reason: "A connection in use is not closed.",
			steps: []step{
				{version: "1", want: "r1#1"},
				{change: after(9 * time.Minute), version: "1", want: "r1#1"},
				{change: after(9 * time.Minute), version: "1", want: "r1#1"},
			},
			want: counts{Resolves: 3, Builds: 1},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c := w.cache(t)

			for i, s := range tc.steps {
				if s.change != nil {
					s.change(w, c)
				}
				lease, err := c.Acquire(t.Context(), "key", s.version, w.resolve)
				if s.want == "" {
					if !errors.Is(err, errBoom) {
						t.Fatalf("%s\nstep %d: want error %v, got %v", tc.reason, i, errBoom, err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s\nstep %d: %v", tc.reason, i, err)
				}
				if diff := cmp.Diff(s.want, lease.Value()); diff != "" {
					t.Errorf("%s\nstep %d -want, +got:\n%s", tc.reason, i, diff)
				}
				lease.Release()
			}
			w.want(t, tc.reason, tc.want)
		})
	}
}

// TestOptions checks the intervals that options set.
func TestOptions(t *testing.T) {
	w := newWorld()
	c := w.cache(t, WithRecheckInterval(2*time.Second), WithFailureInterval(time.Second),
		WithIdleTime(10*time.Second), WithIdleTime(0), WithRecheckInterval(-1))

	w.acquire(t, c, "1").Release()
	w.pass(2 * time.Second)
	w.acquire(t, c, "1").Release()
	w.want(t, "the recheck interval of the option", counts{Resolves: 2, Builds: 1})

	w.pass(10 * time.Second)
	w.acquire(t, c, "1").Release()
	w.want(t, "the idle time of the option", counts{Resolves: 3, Builds: 2, Closed: []string{"r1#1"}})

	errBoom := errors.New("boom")
	w.set(func() { w.resolveErr = errBoom })
	w.pass(2 * time.Second)
	for range 2 {
		if _, err := c.Acquire(t.Context(), "key", "1", w.resolve); !errors.Is(err, errBoom) {
			t.Errorf("want %v, got %v", errBoom, err)
		}
		w.pass(time.Second)
	}
	w.want(t, "the failure interval of the option", counts{Resolves: 5, Builds: 2, Closed: []string{"r1#1"}})
}

// TestReplacedWhileInUse: a connection that was replaced stays open until its last lease
// is released.
func TestReplacedWhileInUse(t *testing.T) {
	w := newWorld()
	c := w.cache(t)

	first, second := w.acquire(t, c, "1"), w.acquire(t, c, "1")
	w.set(func() { w.revision = "r2" })
	third := w.acquire(t, c, "2")

	if diff := cmp.Diff([]string{"r1#1", "r1#1", "r2#2"},
		[]string{first.Value(), second.Value(), third.Value()}); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	w.want(t, "nothing is closed while it is in use", counts{Resolves: 2, Builds: 2})

	first.Release()
	first.Release()
	w.want(t, "a lease that is released twice counts once", counts{Resolves: 2, Builds: 2})

	second.Release()
	w.want(t, "the last release closes", counts{Resolves: 2, Builds: 2, Closed: []string{"r1#1"}})

	third.Release()
	w.want(t, "the current connection stays open", counts{Resolves: 2, Builds: 2, Closed: []string{"r1#1"}})
}

// TestIdleTimeBeginsAtRelease: a leased connection is not idle; its idle time begins when
// the lease is released.
func TestIdleTimeBeginsAtRelease(t *testing.T) {
	w := newWorld()
	c := w.cache(t)
	other := func() {
		lease, err := c.Acquire(t.Context(), "other", "1", w.resolve)
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
	}

	lease := w.acquire(t, c, "1")
	w.pass(time.Hour)
	other()
	w.want(t, "in use", counts{Resolves: 2, Builds: 2})

	lease.Release()
	w.pass(9 * time.Minute)
	other()
	w.want(t, "used nine minutes ago", counts{Resolves: 3, Builds: 2})

	w.pass(time.Minute)
	other()
	w.want(t, "used ten minutes ago", counts{Resolves: 4, Builds: 2, Closed: []string{"r1#1"}})
}

// TestUnusedKeysAreRemoved: entries of unused keys are removed, with a connection or a
// cached error.
func TestUnusedKeysAreRemoved(t *testing.T) {
	w := newWorld()
	c := w.cache(t)

	for i := range 100_000 {
		w.set(func() {
			w.resolveErr = nil
			if i%2 == 0 {
				w.resolveErr = errors.New("boom")
			}
		})
		if lease, err := c.Acquire(t.Context(), fmt.Sprint(i), "1", w.resolve); err == nil {
			lease.Release()
		}
	}
	w.pass(10 * time.Minute)
	w.set(func() { w.resolveErr = nil })
	w.acquire(t, c, "1").Release()

	if len(c.entries) != 1 {
		t.Errorf("want only the entry of the new key, got %d", len(c.entries))
	}
	if len(w.closed) != 50_000 {
		t.Errorf("want 50,000 connections closed, got %d", len(w.closed))
	}
}

// TestClose: Close closes unused connections at once, and others when they are released.
func TestClose(t *testing.T) {
	w := newWorld()
	c := w.cache(t)

	inUse := w.acquire(t, c, "1")
	unused, err := c.Acquire(t.Context(), "unused", "1", w.resolve)
	if err != nil {
		t.Fatal(err)
	}
	unused.Release()

	c.Close()
	c.Close()
	w.want(t, "the unused connection is closed at once", counts{Resolves: 2, Builds: 2, Closed: []string{"r1#2"}})

	if _, err := c.Acquire(t.Context(), "key", "1", w.resolve); !errors.Is(err, ErrClosed) {
		t.Errorf("want %v, got %v", ErrClosed, err)
	}

	inUse.Release()
	w.want(t, "the other one when it is released", counts{Resolves: 2, Builds: 2, Closed: []string{"r1#2", "r1#1"}})
}
