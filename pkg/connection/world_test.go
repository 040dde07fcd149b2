package connection

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/moorage-dev/moorage/internal/leak"
)

func TestMain(m *testing.M) { leak.VerifyTestMain(m) }

// world has settings with a revision, and counts what a cache does with them. The value of
// a connection is its revision and a number.
type world struct {
	clock *testclock.FakePassiveClock

	mu         sync.Mutex
	revision   string
	resolveErr error
	buildErr   error
	resolves   int
	builds     int
	closed     []string

	// during, if set, is called inside a build.
	during func(ctx context.Context) error
}

func newWorld() *world {
	return &world{clock: testclock.NewFakePassiveClock(time.Unix(0, 0)), revision: "r1"}
}

func (w *world) cache(t *testing.T, opts ...Option) *Cache[string] {
	t.Helper()

	c := New(w.close, append([]Option{WithClock(w.clock)}, opts...)...)
	t.Cleanup(c.Close)

	return c
}

func (w *world) resolve(context.Context) (string, func(context.Context) (string, error), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resolves++
	revision := w.revision

	return revision, func(ctx context.Context) (string, error) { return w.build(ctx, revision) }, w.resolveErr
}

func (w *world) build(ctx context.Context, revision string) (string, error) {
	if w.during != nil {
		if err := w.during(ctx); err != nil {
			return "", err
		}
	}

	w.mu.Lock()
	defer w.mu.Unlock()
	if w.buildErr != nil {
		return "", w.buildErr
	}
	w.builds++

	return fmt.Sprintf("%s#%d", revision, w.builds), nil
}

func (w *world) close(conn string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = append(w.closed, conn)
}

// set changes the settings under the lock.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) pass(d time.Duration) { w.clock.SetTime(w.clock.Now().Add(d)) }

// counts are the numbers of calls, and the closed connections.
type counts struct {
	Resolves int
	Builds   int
	Closed   []string
}

func (w *world) want(t *testing.T, reason string, want counts) {
	t.Helper()

	w.mu.Lock()
	defer w.mu.Unlock()
	got := counts{Resolves: w.resolves, Builds: w.builds, Closed: slices.Clone(w.closed)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n-want, +got:\n%s", reason, diff)
	}
}

// acquire returns a lease that the caller has to release.
func (w *world) acquire(t *testing.T, c *Cache[string], version string) *Lease[string] {
	t.Helper()

	lease, err := c.Acquire(t.Context(), "key", version, w.resolve)
	if err != nil {
		t.Fatalf("Acquire(...): %v", err)
	}

	return lease
}
