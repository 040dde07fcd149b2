package syncer_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
)

// TestRefusedItemDoesNotRun: an item that is registered too late is refused, and so nothing is done for it, however early in the start that is.
func TestRefusedItemDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns(t)
		filled := false
		r.host.cache.fills = func(context.Context) bool {
			if !filled {
				filled = true
				if err := r.runner.Register(agent{name: "late", told: r.told}); !errors.Is(err, syncer.ErrStarted) {
					t.Errorf("got error %v", err)
				}
			}
			return true
		}
		r.virtual.cache.fills = nil
		ctx, stop := context.WithCancel(t.Context())
		r.register(agent{name: "one", told: r.told})
		r.start(ctx)
		if !r.ready() {
			t.Error("it is not ready")
		}
		r.wantSteps("What was refused does nothing.", "one: init", "one: indices", "one: register")
		stop()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}
