package connection

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestConcurrentAcquire: a hundred concurrent calls resolve the revision once per recheck
// interval, build once, and get the same connection.
func TestConcurrentAcquire(t *testing.T) {
	w := newWorld()
	c := w.cache(t)

	for minute := range 3 {
		for range 2 {
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					lease, err := c.Acquire(t.Context(), "key", "1", w.resolve)
					if err != nil {
						t.Error(err)
						return
					}
					defer lease.Release()
					if lease.Value() != "r1#1" {
						t.Errorf("want r1#1, got %s", lease.Value())
					}
				})
			}
			all.Wait()
		}

		w.want(t, "resolved once per minute, built once", counts{Resolves: minute + 1, Builds: 1})
		w.pass(time.Minute)
	}
}

// TestConcurrentAcquireFails: concurrent calls share the error of one build.
func TestConcurrentAcquireFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := w.cache(t)
		errBoom := errors.New("boom")
		gate := make(chan struct{})
		w.during = func(context.Context) error { <-gate; return errBoom }

		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := c.Acquire(t.Context(), "key", "1", w.resolve); !errors.Is(err, errBoom) {
					t.Errorf("want %v, got %v", errBoom, err)
				}
			})
		}
		synctest.Wait()
		close(gate)
		all.Wait()

		w.want(t, "all share one error", counts{Resolves: 1})
	})
}

// TestCanceledCaller: if the caller that started a build is canceled, another caller still
// gets the connection, and the canceled one holds no lease.
func TestCanceledCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := w.cache(t)
		gate := make(chan struct{})
		w.during = func(ctx context.Context) error {
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}

		ctx, cancel := context.WithCancel(t.Context())
		canceled := make(chan error)
		go func() {
			_, err := c.Acquire(ctx, "key", "1", w.resolve)
			canceled <- err
		}()
		synctest.Wait()

		got := make(chan *Lease[string])
		go func() { got <- w.acquire(t, c, "1") }()
		synctest.Wait()

		cancel()
		if err := <-canceled; !errors.Is(err, context.Canceled) {
			t.Errorf("want %v, got %v", context.Canceled, err)
		}

		close(gate)
		lease := <-got
		if diff := cmp.Diff("r1#1", lease.Value()); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
		w.want(t, "one build", counts{Resolves: 1, Builds: 1})

		w.set(func() { w.revision = "r2" })
		w.acquire(t, c, "2").Release()
		w.want(t, "still in use", counts{Resolves: 2, Builds: 2})
		lease.Release()
		w.want(t, "the canceled caller has no lease", counts{Resolves: 2, Builds: 2, Closed: []string{"r1#1"}})
	})
}

// TestCanceledAfterBuild: a caller that is canceled after the build has finished releases
// its lease.
func TestCanceledAfterBuild(t *testing.T) {
	w := newWorld()
	c := w.cache(t)

	_, b, err := c.acquire(t.Context(), request[string]{key: "key", version: "1", resolve: w.resolve})
	if err != nil {
		t.Fatal(err)
	}
	<-b.done
	c.cancelWait(b, false)

	w.set(func() { w.revision = "r2" })
	w.acquire(t, c, "2").Release()
	w.want(t, "it is not leased", counts{Resolves: 2, Builds: 2, Closed: []string{"r1#1"}})
}

// TestBuiltAfterAllCanceled: a connection that was built after all callers were canceled
// is kept for the idle time.
func TestBuiltAfterAllCanceled(t *testing.T) {
	w := newWorld()
	c := w.cache(t)
	gate := make(chan struct{})
	w.during = func(context.Context) error { <-gate; return nil }

	_, b, err := c.acquire(t.Context(), request[string]{key: "key", version: "1", resolve: w.resolve})
	if err != nil {
		t.Fatal(err)
	}
	c.cancelWait(b, false)
	close(gate)
	<-b.done

	w.pass(time.Minute)
	lease, err := c.Acquire(t.Context(), "other", "1", w.resolve)
	if err != nil {
		t.Fatal(err)
	}
	lease.Release()
	w.want(t, "kept for the next caller", counts{Resolves: 2, Builds: 2})
}

// TestBuildTimeout: a build that hangs is canceled after the timeout, even if the context
// of the caller has none.
func TestBuildTimeout(t *testing.T) {
	cases := map[string]struct {
		reason string
		opts   []Option
		want   time.Duration
	}{
		"Default": {reason: "Half a minute.", want: 30 * time.Second},
		"Option":  {reason: "As the option says.", opts: []Option{WithTimeout(time.Second)}, want: time.Second},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				c := w.cache(t, tc.opts...)
				w.during = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

				start := time.Now()
				if _, err := c.Acquire(t.Context(), "key", "1", w.resolve); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("want %v, got %v", context.DeadlineExceeded, err)
				}
				if got := time.Since(start); got != tc.want {
					t.Errorf("%s want %s, got %s", tc.reason, tc.want, got)
				}
			})
		})
	}
}

// TestNewVersionDuringBuild: a caller with a newer version does not get the connection of
// an older one that is being built.
func TestNewVersionDuringBuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := w.cache(t)
		gate := make(chan struct{})
		w.during = func(context.Context) error { <-gate; return nil }

		older, newer := make(chan *Lease[string], 1), make(chan *Lease[string], 1)
		go func() { older <- w.acquire(t, c, "1") }()
		synctest.Wait()
		w.set(func() { w.revision = "r2" })
		go func() { newer <- w.acquire(t, c, "2") }()
		synctest.Wait()
		close(gate)

		first, second := <-older, <-newer
		if diff := cmp.Diff([]string{"r1#1", "r2#2"}, []string{first.Value(), second.Value()}); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
		first.Release()
		second.Release()
		w.want(t, "the older one was replaced", counts{Resolves: 2, Builds: 2, Closed: []string{"r1#1"}})
	})
}

// TestRecheckDuringBuild: Recheck during a build causes another one after it.
func TestRecheckDuringBuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := w.cache(t)
		gate := make(chan struct{})
		w.during = func(context.Context) error { <-gate; return nil }

		got := make(chan *Lease[string])
		go func() { got <- w.acquire(t, c, "1") }()
		synctest.Wait()
		c.Recheck("key")
		close(gate)
		(<-got).Release()

		w.acquire(t, c, "1").Release()
		w.want(t, "resolved again", counts{Resolves: 2, Builds: 1})
	})
}

// TestCloseDuringBuild: Close cancels the build and waits for it; a connection that is
// built nevertheless is closed.
func TestCloseDuringBuild(t *testing.T) {
	cases := map[string]struct {
		reason string
		during func(ctx context.Context) error
		want   counts
	}{
		"Canceled": {
			reason: "The build respects its context.",
			during: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
			want:   counts{Resolves: 1},
		},
		"Succeeds": {
			reason: "The build ignores its context and succeeds.",
			during: func(ctx context.Context) error { <-ctx.Done(); return nil },
			want:   counts{Resolves: 1, Builds: 1, Closed: []string{"r1#1"}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				c := w.cache(t)
				w.during = tc.during

				failed := make(chan error, 1)
				go func() {
					_, err := c.Acquire(t.Context(), "key", "1", w.resolve)
					failed <- err
				}()
				synctest.Wait()
				start := time.Now()
				c.Close()
				if waited := time.Since(start); waited != 0 {
					t.Errorf("%s\nwant the build canceled at once, Close took %s", tc.reason, waited)
				}

				w.want(t, tc.reason, tc.want)
				if err := <-failed; !errors.Is(err, ErrClosed) {
					t.Errorf("%s\nwant %v, got %v", tc.reason, ErrClosed, err)
				}
			})
		})
	}
}

// TestResolverPanics: a panic, or the end of the goroutine, is an error for the callers.
func TestResolverPanics(t *testing.T) {
	cases := map[string]struct {
		reason string
		breaks func()
		want   string
	}{
		"Panic": {
			reason: "A panic becomes an error.", breaks: func() { panic("nil map") },
			want: "nil map",
		},
		"Goexit": {
			reason: "The end of the goroutine becomes an error.", breaks: runtime.Goexit,
			want: errAborted.Error(),
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c := w.cache(t)
			w.during = func(context.Context) error { tc.breaks(); return nil }

			_, err := c.Acquire(t.Context(), "key", "1", w.resolve)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s\nwant an error with %q, got %v", tc.reason, tc.want, err)
			}

			w.during = nil
			w.pass(5 * time.Second)
			w.acquire(t, c, "1").Release()
		})
	}
}

// TestBuildContext: the context of a build has the values of the caller's context, but
// does not end with it.
func TestBuildContext(t *testing.T) {
	type key struct{}

	w := newWorld()
	c := w.cache(t)
	var value any
	var deadline bool
	w.during = func(ctx context.Context) error {
		value = ctx.Value(key{})
		_, deadline = ctx.Deadline()

		return ctx.Err()
	}

	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "pass"))
	cancel()
	if lease, err := c.Acquire(ctx, "key", "1", w.resolve); err == nil {
		lease.Release()
	}
	w.acquire(t, c, "1").Release()

	w.want(t, "built for a caller that was canceled", counts{Resolves: 1, Builds: 1})
	if value != "pass" || !deadline {
		t.Errorf("want the caller's value and a deadline, got %v and %t", value, deadline)
	}
}
