package connection

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestDrop: a dropped connection is closed when its last lease is released, and the next
// Acquire builds a new one.
func TestDrop(t *testing.T) {
	w := newWorld()
	c := w.cache(t)

	lease := w.acquire(t, c, "1")
	c.Drop("key")
	c.Drop("key")
	c.Drop("no such key")
	w.want(t, "it is in use", counts{Resolves: 1, Builds: 1})
	if len(c.entries) != 0 {
		t.Errorf("%d entries are left", len(c.entries))
	}

	next := w.acquire(t, c, "1")
	w.want(t, "a new connection of the same revision", counts{Resolves: 2, Builds: 2})
	lease.Release()
	w.want(t, "the last lease was released", counts{Resolves: 2, Builds: 2, Closed: []string{"r1#1"}})
	next.Release()

	c.Drop("key")
	w.want(t, "it was not in use", counts{Resolves: 2, Builds: 2, Closed: []string{"r1#1", "r1#2"}})
}

// TestDropCancelsBuild: callers that wait for a dropped build get ErrDropped, and a
// connection that it builds nevertheless is closed.
func TestDropCancelsBuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c := w.cache(t)
		w.during = func(ctx context.Context) error { <-ctx.Done(); return nil }

		failed := make(chan error)
		go func() {
			_, err := c.Acquire(t.Context(), "key", "1", w.resolve)
			failed <- err
		}()
		synctest.Wait()
		c.Drop("key")
		if err := <-failed; !errors.Is(err, ErrDropped) {
			t.Errorf("want %v, got %v", ErrDropped, err)
		}
		w.want(t, "built and closed", counts{Resolves: 1, Builds: 1, Closed: []string{"r1#1"}})
	})
}
