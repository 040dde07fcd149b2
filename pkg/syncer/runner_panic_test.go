package syncer_test

import (
	"testing"
	"testing/synctest"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// A panickingItem panics when it is registered.
type panickingItem struct{ stepItem }

func (panickingItem) Register(*synccontext.RegisterContext) error { panic(errBoom) }

// startAndRecover starts the Runner and waits until everything that it started before the
// panic has ended.
func startAndRecover(t *testing.T, r *runnerTest) {
	t.Helper()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = r.runner.Start(t.Context())
	}()
	synctest.Wait()
}

// TestRunnerPanic verifies that no manager keeps running after the panic of an item.
func TestRunnerPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunnerTest(t)
		r.register(panickingItem{stepItem{name: "one", steps: r.steps}})
		startAndRecover(t, r)
		if r.host.running() || r.virtual.running() {
			t.Error("a manager still runs")
		}
	})
}

// TestRunnerElectedPanic verifies that the lease is released after the panic of an item.
func TestRunnerElectedPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunnerTest(t)
		c := newProcessManager(r.steps)
		close(c.elected)
		r.reg.ProcessManager = c
		r.register(panickingItem{stepItem{name: "one", steps: r.steps}})
		startAndRecover(t, r)
		if steps := r.steps.all(); r.host.running() || r.virtual.running() || steps[len(steps)-1] != "the process ends" {
			t.Errorf("a manager still runs: %q", steps)
		}
	})
}
