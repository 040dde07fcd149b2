package managed

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An ending client waits in Create for the end of its context.
type endingClient struct {
	ExternalClient

	took time.Duration
}

func (c *endingClient) Create(ctx context.Context, _ resource.Managed) error {
	begun := time.Now()
	<-ctx.Done()
	c.took = time.Since(begun)

	return ctx.Err()
}

// TestCreateLingers verifies that a Create continues for four seconds after a shutdown, within the deadline of the
// pass.
func TestCreateLingers(t *testing.T) {
	cases := map[string]struct {
		stops, deadline time.Duration // after the beginning; 0: not
		want            time.Duration
	}{
		"shutdown":          {time.Second, 0, 5 * time.Second},
		"deadline":          {0, 3 * time.Second, 3 * time.Second},
		"shutdown, then it": {time.Second, 3 * time.Second, 3 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.stops > 0 {
					time.AfterFunc(tc.stops, cancel)
				}
				client := &endingClient{}
				b := timeoutClient{ExternalClient: client, fence: passOf(bearing(nil), &objectState{})}
				if tc.deadline > 0 {
					b.deadline = time.Now().Add(tc.deadline)
				}
				if err := b.Create(ctx, bearing(nil)); err == nil || client.took != tc.want {
					t.Errorf("it took %s and ended with %v, want %s", client.took, err, tc.want)
				}
			})
		})
	}
}

// TestPersistently verifies that a write is retried at once, then with backoff, with five seconds per request.
func TestPersistently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var tries []time.Duration
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		boom := errors.New("boom")
		err := persistently(ctx, func(context.Context) error {
			tries = append(tries, time.Since(begun)/time.Millisecond)

			return boom
		})
		if want := []time.Duration{0, 50, 150, 350, 750, 1550, 3150, 6350, 9550}; !errors.Is(err, boom) ||
			!slices.Equal(tries, want) {
			t.Errorf("tried after %d ms, want %d, and ended with %v", tries, want, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		begun, tries := time.Now(), 0
		err := persistently(t.Context(), func(ctx context.Context) error {
			if tries++; tries == 2 {
				return nil
			}
			<-ctx.Done()

			return ctx.Err()
		})
		if took := time.Since(begun); err != nil || took != 5050*time.Millisecond {
			t.Errorf("a try that hangs: it took %s, and ended with %v", took, err)
		}
	})
	for what, last := range map[string]error{
		"the object is gone": errReplaced,
		"it is not stored":   &notStoredError{[]string{"label a"}},
	} {
		tries := 0
		err := persistently(t.Context(), func(context.Context) error {
			tries++

			return last
		})
		if tries != 1 || !errors.Is(err, last) {
			t.Errorf("%s: tried %d times, and ended with %v", what, tries, err)
		}
	}
}

// TestMayChange verifies that nothing begins in the last second of a lease, after a restore, when fenced, or during
// a shutdown.
func TestMayChange(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	refused := errors.New("another process is at work")
	lease := func(left time.Duration) ReconcilerOption {
		return WithLeaseDeadline(func() time.Time { return noon.Add(left) })
	}
	fence := func(err error) ReconcilerOption {
		return WithFence(func(context.Context) error { return err })
	}
	cases := map[string]struct {
		stops   bool
		options []ReconcilerOption
		want    bool
	}{
		"anything":       {false, nil, true},
		"stopped":        {true, nil, false},
		"long lease":     {false, []ReconcilerOption{lease(time.Second + 1)}, true},
		"last second":    {false, []ReconcilerOption{lease(time.Second)}, false},
		"lease is over":  {false, []ReconcilerOption{lease(-time.Second)}, false},
		"no deadline":    {false, []ReconcilerOption{WithLeaseDeadline(func() time.Time { return time.Time{} })}, true},
		"fence":          {false, []ReconcilerOption{fence(nil)}, true},
		"fence says no":  {false, []ReconcilerOption{fence(refused)}, false},
		"lease is first": {false, []ReconcilerOption{lease(0), fence(nil)}, false},
	}
	for name, tc := range cases {
		ctx := t.Context()
		if tc.stops {
			ctx = stopped
		}
		err := passOf(bearing(nil), &objectState{}, tc.options...).checkFence(ctx)
		if (err == nil) != tc.want || err != nil && !errors.Is(err, errFenced) {
			t.Errorf("%s: got %v", name, err)
		}
		if name == "fence says no" && !errors.Is(err, refused) {
			t.Errorf("why the fence says no is lost: %v", err)
		}
	}
}

// TestDelaysBeginWhenACallHasEnded verifies that the delay after a slow call is counted from its end.
func TestDelaysBeginWhenACallHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		var at []time.Duration
		_ = persistently(ctx, func(context.Context) error {
			at = append(at, time.Since(began))
			<-time.After(time.Second)

			return errors.New("not yet")
		})
		want := []time.Duration{0, 1050 * time.Millisecond, 2150 * time.Millisecond, 3350 * time.Millisecond,
			4750 * time.Millisecond, 6550 * time.Millisecond, 9150 * time.Millisecond}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	})
}
