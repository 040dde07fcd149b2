package syncer_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
)

// TestRunnerIgnoresItemRegisteredLate verifies that an item that is registered after
// Start is rejected and no step runs for it.
func TestRunnerIgnoresItemRegisteredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunnerTest(t)
		filled := false
		r.host.cache.sync = func(context.Context) bool {
			if !filled {
				filled = true
				if err := r.runner.Register(stepItem{name: "late", steps: r.steps}); !errors.Is(err, syncer.ErrStarted) {
					t.Errorf("got error %v", err)
				}
			}
			return true
		}
		r.virtual.cache.sync = nil
		ctx, stop := context.WithCancel(t.Context())
		r.register(stepItem{name: "one", steps: r.steps})
		r.start(ctx)
		if !r.ready() {
			t.Error("not ready")
		}
		r.wantSteps("No step runs for the rejected item.", "one: init", "one: indices", "one: register")
		stop()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}
