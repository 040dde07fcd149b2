package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestLivenessFailsWhenAllWorkersAreHeld verifies that the check fails when all workers of a kind have waited for
// ten minutes, or for the timeout of a pass.
func TestLivenessFailsWhenAllWorkersAreHeld(t *testing.T) {
	cases := map[string]struct {
		options []managed.ReconcilerOption
		workers int
		held    time.Duration
		alive   bool
	}{
		"not for long":           {nil, 1, 9 * time.Minute, true},
		"for ten minutes":        {nil, 1, 11 * time.Minute, false},
		"another worker is free": {nil, 2, time.Hour, true},
		"a pass may take longer": {[]managed.ReconcilerOption{managed.WithTimeout(time.Hour)}, 1, 59 * time.Minute,
			true},
		"and longer than that": {[]managed.ReconcilerOption{managed.WithTimeout(time.Hour)}, 1, 61 * time.Minute,
			false},
		"nobody wants to know": {[]managed.ReconcilerOption{managed.WithLivenessCheck(false)}, 1, time.Hour, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.options...)
			w.create(nil)
			called, back, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
			w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
				if call != "Observe" {
					return nil
				}
				close(called)
				<-back

				return errLost
			}
			check := w.r.Liveness(tc.workers)
			if err := check(nil); err != nil {
				t.Errorf("before anything is called: %v", err)
			}
			go func() {
				defer close(ended)
				_, _ = w.r.Reconcile(w.Context(), request())
			}()
			<-called
			w.clock.SetTime(w.clock.Now().Add(tc.held))
			err := check(nil)
			if alive := err == nil; alive != tc.alive {
				t.Errorf("alive %t, want %t: %v", alive, tc.alive, err)
			}
			if err != nil && !strings.Contains(err.Error(), "restart the process") {
				t.Errorf("%q does not say what to do", err)
			}
			close(back)
			<-ended
			if err := check(nil); err != nil {
				t.Errorf("after the call has returned: %v", err)
			}
		})
	}
}
