package connection

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestMissing checks which callers get a connection whose settings are missing. Each step
// advances the clock, makes a change, and acquires a lease with ForDeletion and one without:
// it wants these connections, or an error if they are empty.
func TestMissing(t *testing.T) {
	type step struct {
		pass     time.Duration
		fail     error  // the error of the resolver from now on; nil leaves it
		revision string // the revision from now on, without an error; empty leaves it
		version  string
		deletion string
		other    string
	}
	errGone, errTimeout, errEmpty := errors.New("gone"), errors.New("timeout"), errors.New("empty")
	gone, unsure := Missing(errGone, nil), Unsure(errTimeout)
	good := step{version: "1", deletion: "r1#1", other: "r1#1"}

	cases := map[string]struct {
		reason string
		steps  []step
		want   counts
	}{
		"Kept": {
			reason: "deletions keep the connection while the Secret is missing; other callers do not",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletion: "r1#1"},
				{pass: 4 * time.Second, version: "1", deletion: "r1#1"},
				{pass: time.Second, version: "1", deletion: "r1#1"},
				{pass: time.Hour, version: "1", deletion: "r1#1"},
			},
			want: counts{Resolves: 4, Builds: 1},
		},
		"Rotated": {
			reason: "a Secret with other contents replaces the connection for all callers",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletion: "r1#1"},
				{pass: 5 * time.Second, revision: "r2", version: "1", deletion: "r2#2", other: "r2#2"},
			},
			want: counts{Resolves: 3, Builds: 2, Closed: []string{"r1#1"}},
		},
		"Restored": {
			reason: "a Secret that is created again with the same contents needs no new connection",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletion: "r1#1"},
				{pass: 5 * time.Second, revision: "r1", version: "1", deletion: "r1#1", other: "r1#1"},
			},
			want: counts{Resolves: 3, Builds: 1},
		},
		"Revoked": {
			reason: "a Secret without contents revokes the connection for all callers, even if deleted later",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletion: "r1#1"},
				{pass: 5 * time.Second, fail: errEmpty, version: "1"},
				{pass: 5 * time.Second, fail: gone, version: "1"},
			},
			want: counts{Resolves: 4, Builds: 1, Closed: []string{"r1#1"}},
		},
		"RevokedBefore": {
			reason: "deleting the Secret does not undo a revocation",
			steps: []step{
				good,
				{pass: time.Minute, fail: errEmpty, version: "1"},
				{pass: time.Second, version: "1"},
				{pass: 5 * time.Second, fail: gone, version: "1"},
				{pass: time.Second, version: "1"},
			},
			want: counts{Resolves: 3, Builds: 1},
		},
		"Reconfigured": {
			reason: "a new version means another system, or another user",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletion: "r1#1"},
				{version: "2"},
				{version: "1"},
			},
			want: counts{Resolves: 4, Builds: 1, Closed: []string{"r1#1"}},
		},
		"ReconfiguredAndMissing": {
			reason: "a new version and a missing Secret at the same time",
			steps:  []step{good, {fail: gone, version: "2"}},
			want:   counts{Resolves: 2, Builds: 1},
		},
		"Unsure": {
			reason: "an Unsure error does not end the retention",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletion: "r1#1"},
				{pass: time.Hour, fail: unsure, version: "1", deletion: "r1#1"},
				{pass: time.Hour, fail: gone, version: "1", deletion: "r1#1"},
			},
			want: counts{Resolves: 4, Builds: 1},
		},
		"AfterUnsure": {
			reason: "an Unsure error before does not prevent it",
			steps: []step{
				good,
				{pass: time.Minute, fail: unsure, version: "1", deletion: "r1#1", other: "r1#1"},
				{pass: 5 * time.Second, fail: gone, version: "1", deletion: "r1#1"},
			},
			want: counts{Resolves: 3, Builds: 1},
		},
		"NoConnection": {
			reason: "after a start there is no connection to keep",
			steps: []step{{fail: gone, version: "1"}, {
				revision: "r1", pass: 5 * time.Second, version: "1", deletion: "r1#1", other: "r1#1",
			}},
			want: counts{Resolves: 2, Builds: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c := w.cache(t)
			value := func(version string, deletion bool) string {
				lease, err := c.Acquire(t.Context(), "key", version, w.resolve, ForDeletion(deletion))
				if err != nil {
					return ""
				}
				defer lease.Release()

				return lease.Value()
			}
			for i, s := range tc.steps {
				w.pass(s.pass)
				w.set(func() {
					if s.fail != nil {
						w.resolveErr = s.fail
					}
					if s.revision != "" {
						w.resolveErr, w.revision = nil, s.revision
					}
				})
				got := []string{value(s.version, true), value(s.version, false)}
				if diff := cmp.Diff([]string{s.deletion, s.other}, got); diff != "" {
					t.Errorf("%s\nstep %d: -want, +got:\n%s", tc.reason, i, diff)
				}
			}
			w.want(t, tc.reason, tc.want)
		})
	}
}

// TestMissingRetainedWhileNeeded: a connection whose settings are missing stays open for
// the recheck interval, and from then on while it is needed, even if it is not acquired.
func TestMissingRetainedWhileNeeded(t *testing.T) {
	cases := map[string]struct {
		reason string
		needed func(since time.Duration) bool
		closed time.Duration
	}{
		"NotNeeded": {"objects may be deleted a moment after their Secret",
			func(time.Duration) bool { return false }, time.Minute},
		"Deletion": {"the last object was deleted after an hour",
			func(d time.Duration) bool { return d < time.Hour }, time.Hour},
		"Nil": {"a nil function counts as false", nil, time.Minute},
		"Panic": {"a panic counts as false",
			func(time.Duration) bool { panic("boom") }, time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				c := w.cache(t, WithClock(clock.RealClock{}))
				w.acquire(t, c, "1").Release()
				<-time.After(time.Minute)

				begin := time.Now()
				needed := func(context.Context) bool { return tc.needed(time.Since(begin)) }
				if tc.needed == nil {
					needed = nil
				}
				w.set(func() { w.resolveErr = Missing(errors.New("gone"), needed) })
				lease, err := c.Acquire(t.Context(), "key", "1", w.resolve, ForDeletion(true))
				if err != nil {
					t.Fatal(err)
				}
				lease.Release()

				<-time.After(tc.closed - time.Millisecond)
				w.want(t, "it is retained", counts{Resolves: 2, Builds: 1})
				<-time.After(2 * time.Millisecond)
				w.want(t, tc.reason, counts{Resolves: 2, Builds: 1, Closed: []string{"r1#1"}})
				if _, err := c.Acquire(t.Context(), "key", "1", w.resolve, ForDeletion(true)); err == nil {
					t.Error("a closed connection is handed out")
				}
			})
		})
	}
}

// TestMissingSecretRestored: a Secret that is created again with the same contents ends
// the retention, and its connection is not closed, even if the recheck interval ends
// during that build.
func TestMissingSecretRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := w.cache(t, WithClock(clock.RealClock{}))
		w.acquire(t, c, "1").Release()
		<-time.After(time.Minute)
		w.set(func() { w.resolveErr = Missing(errors.New("gone"), nil) })
		if _, err := c.Acquire(t.Context(), "key", "1", w.resolve); !IsMissing(err) {
			t.Fatal(err)
		}

		<-time.After(time.Minute - time.Second)
		w.set(func() { w.resolveErr = nil })
		slow := func(ctx context.Context) (string, func(context.Context) (string, error), error) {
			<-time.After(20 * time.Second)

			return w.resolve(ctx)
		}
		lease, err := c.Acquire(t.Context(), "key", "1", slow)
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
		<-time.After(5 * time.Minute)
		w.want(t, "it stays open", counts{Resolves: 3, Builds: 1})
	})
}

// TestMissingUsesLastFunction: the function needed of the last error is used.
func TestMissingUsesLastFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := w.cache(t, WithClock(clock.RealClock{}))
		w.acquire(t, c, "1").Release()
		<-time.After(time.Minute)
		for _, needed := range []bool{false, true} {
			w.set(func() { w.resolveErr = Missing(errors.New("gone"), func(context.Context) bool { return needed }) })
			if _, err := c.Acquire(t.Context(), "key", "1", w.resolve); !IsMissing(err) {
				t.Fatal(err)
			}
			<-time.After(5 * time.Second)
		}
		<-time.After(time.Hour)
		w.want(t, "it is needed", counts{Resolves: 3, Builds: 1})
	})
}

// TestMissingCanceledAfterBuild: a caller with ForDeletion that is canceled after the build
// has finished releases its lease.
func TestMissingCanceledAfterBuild(t *testing.T) {
	w := newWorld()
	c := w.cache(t)
	w.acquire(t, c, "1").Release()
	w.pass(time.Minute)
	w.set(func() { w.resolveErr = Missing(errors.New("gone"), nil) })

	_, b, err := c.acquire(t.Context(), request[string]{key: "key", version: "1", resolve: w.resolve, deletion: true})
	if err != nil || b == nil {
		t.Fatalf("acquire(...): build %v, error %v", b, err)
	}
	<-b.done
	c.cancelWait(b, true)
	if n := c.entries["key"].current.leases; n != 0 {
		t.Errorf("%d leases are left", n)
	}
}

// TestMissingLeaseOutlivesRetention: a lease stays valid after the retention has ended.
func TestMissingLeaseOutlivesRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := w.cache(t, WithClock(clock.RealClock{}))
		w.acquire(t, c, "1").Release()
		<-time.After(time.Minute)
		w.set(func() { w.resolveErr = Missing(errors.New("gone"), nil) })
		lease, err := c.Acquire(t.Context(), "key", "1", w.resolve, ForDeletion(true))
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		w.want(t, "it is in use", counts{Resolves: 2, Builds: 1})
		lease.Release()
		w.want(t, "the last lease was released", counts{Resolves: 2, Builds: 1, Closed: []string{"r1#1"}})
	})
}

// TestMissingRetentionEnds: Close and Drop end the retention with its goroutine, which the
// end of the bubble would wait for, and close the connection once.
func TestMissingRetentionEnds(t *testing.T) {
	cases := map[string]func(c *Cache[string]){
		"Close":      func(c *Cache[string]) { c.Close() },
		"Drop":       func(c *Cache[string]) { c.Drop("key") },
		"CloseTwice": func(c *Cache[string]) { c.Drop("key"); c.Close() },
	}
	for name, end := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				c := New(w.close)
				w.acquire(t, c, "1").Release()
				<-time.After(time.Minute)
				w.set(func() {
					w.resolveErr = Missing(errors.New("gone"),
						func(ctx context.Context) bool { <-ctx.Done(); return true })
				})
				if _, err := c.Acquire(t.Context(), "key", "1", w.resolve); !IsMissing(err) {
					t.Errorf("without ForDeletion: %v", err)
				}
				<-time.After(2 * time.Minute)
				end(c)
				w.want(t, name, counts{Resolves: 2, Builds: 1, Closed: []string{"r1#1"}})
			})
		})
	}
}

// TestMissingConcurrentAcquire: of the callers that wait for one build, those with
// ForDeletion get a lease, the others an error. Canceled ones hold no lease.
func TestMissingConcurrentAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := w.cache(t, WithClock(clock.RealClock{}))
		w.acquire(t, c, "1").Release()
		<-time.After(time.Minute)

		gate := make(chan struct{})
		w.set(func() { w.resolveErr = Missing(errors.New("gone"), nil) })
		resolve := func(ctx context.Context) (string, func(context.Context) (string, error), error) {
			<-gate

			return w.resolve(ctx)
		}
		var got, failed atomic.Int32
		acquire := func(ctx context.Context, deletion bool) {
			lease, err := c.Acquire(ctx, "key", "1", resolve, ForDeletion(deletion))
			if err != nil {
				failed.Add(1)

				return
			}
			got.Add(1)
			lease.Release()
		}
		canceled, cancel := context.WithCancel(t.Context())
		for range 10 {
			go acquire(t.Context(), true)
			go acquire(t.Context(), false)
			go acquire(canceled, true)
			go acquire(canceled, false)
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if got.Load() != 10 || failed.Load() != 30 {
			t.Errorf("%d leases and %d errors, want 10 and 30", got.Load(), failed.Load())
		}
		if n := c.entries["key"].current.leases; n != 0 {
			t.Errorf("%d leases are left", n)
		}
	})
}

// TestMissingError checks IsMissing, and that the marked error is unchanged.
func TestMissingError(t *testing.T) {
	errGone := errors.New("gone")

	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Nil":     {"nothing went wrong", Missing(nil, nil), false},
		"Plain":   {"not marked", errGone, false},
		"Unsure":  {"marked by Unsure", Unsure(errGone), false},
		"Marked":  {"marked", Missing(errGone, nil), true},
		"Wrapped": {"a wrapped error is marked", errors.Wrap(Missing(errGone, nil), "cannot read"), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := IsMissing(tc.err); got != tc.want {
				t.Errorf("%s\nIsMissing(%v): want %t, got %t", tc.reason, tc.err, tc.want, got)
			}
		})
	}
	if err := Missing(errGone, nil); !errors.Is(err, errGone) || err.Error() != errGone.Error() {
		t.Errorf("Missing(...): %v, want the marked error", err)
	}
}
