package managed

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A keptContext is a client that keeps the context of each call.
type keptContext struct {
	ExternalClient

	of     context.Context //nolint:containedctx // what becomes of it after the call is what the tests ask
	called []string
	during func(context.Context)
}

func (c *keptContext) note(ctx context.Context, call string) error {
	c.of, c.called = ctx, append(c.called, call)
	if c.during != nil {
		c.during(ctx)
	}

	return ctx.Err()
}

func (c *keptContext) Observe(ctx context.Context, _ resource.Managed) (ExternalObservation, error) {
	return ExternalObservation{ResourceExists: true}, c.note(ctx, "Observe")
}
func (c *keptContext) Create(ctx context.Context, _ resource.Managed) error {
	return c.note(ctx, "Create")
}
func (c *keptContext) Update(ctx context.Context, _ resource.Managed) error {
	return c.note(ctx, "Update")
}
func (c *keptContext) Delete(ctx context.Context, _ resource.Managed) error {
	return c.note(ctx, "Delete")
}

// callsOf returns the calls of a client, by name.
func callsOf(c ExternalClient) map[string]func(context.Context) error {
	mg := bearing(nil)

	return map[string]func(context.Context) error{
		"Observe": func(ctx context.Context) error {
			_, err := c.Observe(ctx, mg)

			return err
		},
		"Create": func(ctx context.Context) error { return c.Create(ctx, mg) },
		"Update": func(ctx context.Context) error { return c.Update(ctx, mg) },
		"Delete": func(ctx context.Context) error { return c.Delete(ctx, mg) },
	}
}

// TestACallEndsInTime verifies that a call ends with the deadline of the pass, and its context with the call.
func TestACallEndsInTime(t *testing.T) {
	for _, call := range []string{"Observe", "Create", "Update", "Delete"} {
		synctest.Test(t, func(t *testing.T) {
			kept := &keptContext{}
			b := timeoutClient{kept, time.Now().Add(3 * time.Second), passOf(bearing(nil), &objectState{})}
			kept.during = func(ctx context.Context) {
				if end, ok := ctx.Deadline(); !ok || !end.Equal(b.deadline) || ctx.Err() != nil {
					t.Errorf("%s is to end at %s, want %s; it is told to end: %v", call, end, b.deadline, ctx.Err())
				}
			}
			if err := callsOf(b)[call](t.Context()); err != nil || kept.of.Err() == nil || len(kept.called) != 1 {
				t.Errorf("%s ended with %v after the calls %v, and its context is over: %v", call, err, kept.called,
					kept.of.Err())
			}
			kept.during = func(ctx context.Context) { <-ctx.Done() }
			begun := time.Now()
			if err := callsOf(b)[call](t.Context()); !errors.Is(err, context.DeadlineExceeded) ||
				time.Since(begun) != 3*time.Second {
				t.Errorf("a %s that hangs ended after %s with %v", call, time.Since(begun), err)
			}
			b.deadline, kept.during = time.Time{}, func(ctx context.Context) {
				if end, ok := ctx.Deadline(); ok {
					t.Errorf("%s is to end at %s, and the pass has no end", call, end)
				}
			}
			if err := callsOf(b)[call](t.Context()); err != nil || kept.of.Err() == nil {
				t.Errorf("%s ended with %v, and its context is over: %v", call, err, kept.of.Err())
			}
		})
	}
}

// TestCallsLeaveTimeForTheStatus verifies that external calls end half a minute before the pass.
func TestCallsLeaveTimeForTheStatus(t *testing.T) {
	if end := callDeadline(t.Context()); !end.IsZero() {
		t.Errorf("a pass without an end has calls that end at %s", end)
	}
	ctx, cancel := context.WithDeadline(t.Context(), noon)
	defer cancel()
	if end := callDeadline(ctx); !end.Equal(noon.Add(-30 * time.Second)) {
		t.Errorf("calls of a pass that ends at %s end at %s", noon, end)
	}
}

// A movingLease is one that may be renewed, and counts how often it is asked for.
type movingLease struct {
	mu    sync.Mutex
	end   time.Time
	asked int
}

func (l *movingLease) deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++

	return l.end
}

// ends sets when the lease does, and returns how often it was asked for since the last time.
func (l *movingLease) ends(at time.Time) (asked int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked, l.asked, l.end = l.asked, 0, at

	return asked
}

// TestAChangeEndsWithTheLease verifies that a changing call ends with the lease, also a renewed one, whose deadline
// is not read after the call.
func TestAChangeEndsWithTheLease(t *testing.T) {
	for _, call := range []string{"Create", "Update", "Delete"} {
		synctest.Test(t, func(t *testing.T) {
			lease := &movingLease{}
			p := passOf(bearing(nil), &objectState{}, WithClock(ownClock{}), WithLeaseDeadline(lease.deadline))
			kept := &keptContext{}
			// Create has the lease of the bound, the others that of the fence.
			do := callsOf(fencedClient{timeoutClient{kept, time.Time{}, p}, p})[call]
			end := time.Now().Add(10 * time.Second)
			lease.ends(end)
			if err := do(t.Context()); err != nil || kept.of.Err() == nil {
				t.Errorf("%s ended with %v, and its context is over: %v", call, err, kept.of.Err())
			}
			lease.ends(end)
			<-time.After(time.Minute)
			if asked := lease.ends(time.Time{}); asked > 0 {
				t.Errorf("the lease was asked for %d times after the %s was over", asked, call)
			}
			if err := do(t.Context()); err != nil {
				t.Errorf("%s under a lease without an end: %v", call, err)
			}

			begun := time.Now()
			lease.ends(begun.Add(10 * time.Second))
			kept.during = func(ctx context.Context) {
				<-time.After(5 * time.Second)
				lease.ends(begun.Add(25 * time.Second)) // it is renewed once
				<-ctx.Done()
			}
			if err := do(t.Context()); err == nil || time.Since(begun) != 25*time.Second ||
				!errors.Is(context.Cause(kept.of), context.DeadlineExceeded) {
				t.Errorf("%s ended after %s with %v, because of %v; the lease lasted for 25 s", call,
					time.Since(begun), err, context.Cause(kept.of))
			}

			lease.ends(time.Now().Add(leaseMargin)) // the last second has begun
			kept.called = nil
			if err := do(t.Context()); !errors.Is(err, errFenced) ||
				external.IsNotCreated(err) != (call == "Create") || kept.called != nil {
				t.Errorf("%s in the last second: %v, calls %v", call, err, kept.called)
			}
		})
	}
}

// ownClock is the clock of the bubble.
type ownClock struct{}

func (ownClock) Now() time.Time                  { return time.Now() }
func (ownClock) Since(t time.Time) time.Duration { return time.Since(t) }
