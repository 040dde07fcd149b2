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

// TestMissing tells who gets a connection whose settings are gone. In each step time
// passes, then somebody changes something, and then a lease is asked for, by an object that
// is being deleted and by one that is not: on which connection, or "" for an error.
func TestMissing(t *testing.T) {
	type step struct {
		pass    time.Duration
		fail    error // what the resolver says from now on; nil goes on as before
		heal    string
		version string
		deletes string
		lives   string
	}
	errGone, errHiccup, errEmpty := errors.New("gone"), errors.New("hiccup"), errors.New("empty")
	gone, unsure := Missing(errGone, nil), Unsure(errHiccup)
	good := step{version: "1", deletes: "r1#1", lives: "r1#1"}

	cases := map[string]struct {
		reason string
		steps  []step
		want   counts
	}{
		"Kept": {
			reason: "what is being deleted keeps the connection for as long as the Secret is away; nobody else does",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletes: "r1#1"},
				{pass: 4 * time.Second, version: "1", deletes: "r1#1"},
				{pass: time.Second, version: "1", deletes: "r1#1"},
				{pass: time.Hour, version: "1", deletes: "r1#1"},
			},
			want: counts{Resolves: 4, Builds: 1},
		},
		"Rotated": {
			reason: "a Secret with other contents replaces it for everybody",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletes: "r1#1"},
				{pass: 5 * time.Second, heal: "r2", version: "1", deletes: "r2#2", lives: "r2#2"},
			},
			want: counts{Resolves: 3, Builds: 2, Closed: []string{"r1#1"}},
		},
		"Back": {
			reason: "a Secret that comes back as it was needs no other connection",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletes: "r1#1"},
				{pass: 5 * time.Second, heal: "r1", version: "1", deletes: "r1#1", lives: "r1#1"},
			},
			want: counts{Resolves: 3, Builds: 1},
		},
		"Revoked": {
			reason: "a Secret without contents takes it from everybody at once, also when it is deleted after that",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletes: "r1#1"},
				{pass: 5 * time.Second, fail: errEmpty, version: "1"},
				{pass: 5 * time.Second, fail: gone, version: "1"},
			},
			want: counts{Resolves: 4, Builds: 1, Closed: []string{"r1#1"}},
		},
		"RevokedBefore": {
			reason: "what was taken away is not given back by deleting the Secret",
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
			reason: "whoever changed the configuration means another system, or another user of it",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletes: "r1#1"},
				{version: "2"},
				{version: "1"},
			},
			want: counts{Resolves: 4, Builds: 1, Closed: []string{"r1#1"}},
		},
		"ReconfiguredAtOnce": {
			reason: "the same in one step",
			steps:  []step{good, {fail: gone, version: "2"}},
			want:   counts{Resolves: 2, Builds: 1},
		},
		"Unsure": {
			reason: "a hiccup of the API server says nothing new",
			steps: []step{
				good,
				{pass: time.Minute, fail: gone, version: "1", deletes: "r1#1"},
				{pass: time.Hour, fail: unsure, version: "1", deletes: "r1#1"},
				{pass: time.Hour, fail: gone, version: "1", deletes: "r1#1"},
			},
			want: counts{Resolves: 4, Builds: 1},
		},
		"AfterUnsure": {
			reason: "nor does it before",
			steps: []step{
				good,
				{pass: time.Minute, fail: unsure, version: "1", deletes: "r1#1", lives: "r1#1"},
				{pass: 5 * time.Second, fail: gone, version: "1", deletes: "r1#1"},
			},
			want: counts{Resolves: 3, Builds: 1},
		},
		"Never": {
			reason: "a process that has just begun has nothing to keep",
			steps:  []step{{fail: gone, version: "1"}, {heal: "r1", pass: 5 * time.Second, version: "1", deletes: "r1#1", lives: "r1#1"}},
			want:   counts{Resolves: 2, Builds: 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c := w.cache(t)
			ask := func(version string, deletion bool) string {
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
					if s.heal != "" {
						w.resolveErr, w.revision = nil, s.heal
					}
				})
				got := []string{ask(s.version, true), ask(s.version, false)}
				if diff := cmp.Diff([]string{s.deletes, s.lives}, got); diff != "" {
					t.Errorf("%s\nstep %d: -want, +got:\n%s", tc.reason, i, diff)
				}
			}
			w.want(t, tc.reason, tc.want)
		})
	}
}

// TestKeptAsLongAsNeeded: a connection whose settings are missing stays open for a minute,
// and after that while somebody needs it, whether anybody asks for it or not. The clock of
// a bubble goes on when everybody waits.
func TestKeptAsLongAsNeeded(t *testing.T) {
	cases := map[string]struct {
		reason string
		needed func(since time.Duration) bool
		closed time.Duration
	}{
		"Nobody":   {"objects may be deleted a moment after their Secret", func(time.Duration) bool { return false }, time.Minute},
		"Deletion": {"the last one went after an hour", func(d time.Duration) bool { return d < time.Hour }, time.Hour},
		"Unasked":  {"nobody told how to find out", nil, time.Minute},
		"Panic":    {"a mistake of the author is no reason to keep a secret", func(time.Duration) bool { panic("boom") }, time.Minute},
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
				w.want(t, "it is kept", counts{Resolves: 2, Builds: 1})
				<-time.After(2 * time.Millisecond)
				w.want(t, tc.reason, counts{Resolves: 2, Builds: 1, Closed: []string{"r1#1"}})
				if _, err := c.Acquire(t.Context(), "key", "1", w.resolve, ForDeletion(true)); err == nil {
					t.Error("what was closed is handed out")
				}
			})
		})
	}
}

// TestKeptAndBack: a Secret that is there again, as it was, ends the wait for those who
// delete: its connection is anybody's, and is not closed. So it is if the wait is over in
// the middle of that look.
func TestKeptAndBack(t *testing.T) {
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
		w.want(t, "it is good", counts{Resolves: 3, Builds: 1})
	})
}

// TestKeptForTheLast: what was said last counts, of whether it is needed.
func TestKeptForTheLast(t *testing.T) {
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
		w.want(t, "somebody needs it", counts{Resolves: 3, Builds: 1})
	})
}

// TestGiveUpTooLateToDelete: whoever gives up when the answer is there gives back what he
// was given.
func TestGiveUpTooLateToDelete(t *testing.T) {
	w := newWorld()
	c := w.cache(t)
	w.acquire(t, c, "1").Release()
	w.pass(time.Minute)
	w.set(func() { w.resolveErr = Missing(errors.New("gone"), nil) })

	_, f, err := c.take(t.Context(), want[string]{key: "key", version: "1", resolve: w.resolve, deletion: true})
	if err != nil || f == nil {
		t.Fatalf("take(...): flight %v, error %v", f, err)
	}
	<-f.done
	c.leave(f, true)
	if n := c.entries["key"].current.leases; n != 0 {
		t.Errorf("%d leases are left", n)
	}
}

// TestKeptInUse: a lease on what is not kept any more is still good, as any lease is.
func TestKeptInUse(t *testing.T) {
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
		w.want(t, "somebody uses it", counts{Resolves: 2, Builds: 1})
		lease.Release()
		w.want(t, "the last lease came back", counts{Resolves: 2, Builds: 1, Closed: []string{"r1#1"}})
	})
}

// TestKeptEnds: what ends the wait for those who delete leaves no goroutine, which the end
// of the bubble would wait for, and closes the connection once.
func TestKeptEnds(t *testing.T) {
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
					w.resolveErr = Missing(errors.New("gone"), func(ctx context.Context) bool { <-ctx.Done(); return true })
				})
				if _, err := c.Acquire(t.Context(), "key", "1", w.resolve); !IsMissing(err) {
					t.Errorf("who does not delete: %v", err)
				}
				<-time.After(2 * time.Minute)
				end(c)
				w.want(t, name, counts{Resolves: 2, Builds: 1, Closed: []string{"r1#1"}})
			})
		})
	}
}

// TestKeptForThoseWhoWait: of those who wait for one look, those who delete get a lease
// each, also if they give up as it ends, and the others an error.
func TestKeptForThoseWhoWait(t *testing.T) {
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
		ask := func(ctx context.Context, deletion bool) {
			lease, err := c.Acquire(ctx, "key", "1", resolve, ForDeletion(deletion))
			if err != nil {
				failed.Add(1)

				return
			}
			got.Add(1)
			lease.Release()
		}
		leaving, leave := context.WithCancel(t.Context())
		for range 10 {
			go ask(t.Context(), true)
			go ask(t.Context(), false)
			go ask(leaving, true)
			go ask(leaving, false)
		}
		synctest.Wait()
		leave()
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

func TestMissingError(t *testing.T) {
	errGone := errors.New("gone")

	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"Nil":     {"nothing went wrong", Missing(nil, nil), false},
		"Plain":   {"nobody marked it", errGone, false},
		"Unsure":  {"marked otherwise", Unsure(errGone), false},
		"Marked":  {"marked", Missing(errGone, nil), true},
		"Wrapped": {"marked further down", errors.Wrap(Missing(errGone, nil), "cannot read"), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := IsMissing(tc.err); got != tc.want {
				t.Errorf("%s\nIsMissing(%v): want %t, got %t", tc.reason, tc.err, tc.want, got)
			}
		})
	}
	if err := Missing(errGone, nil); !errors.Is(err, errGone) || err.Error() != errGone.Error() {
		t.Errorf("Missing(...): %v, want what was given", err)
	}
}
