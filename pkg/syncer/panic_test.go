package syncer_test

import (
	"testing"
	"testing/synctest"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// explosive is an item that panics when it is registered.
type explosive struct{ agent }

func (explosive) Register(*synccontext.RegisterContext) error { panic(errBoom) }

// panics starts the Runner, and waits until what it began before the panic has ended.
func panics(t *testing.T, r *runs) {
	t.Helper()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it did not panic")
			}
		}()
		_ = r.runner.Start(t.Context())
	}()
	synctest.Wait()
}

// TestRunnerAfterAPanic: a process that survives the panic of an item has no managers that run on without their Runner.
func TestRunnerAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns(t)
		r.register(explosive{agent{name: "one", told: r.told}})
		panics(t, r)
		if r.host.running() || r.virtual.running() {
			t.Error("a manager still runs")
		}
	})
}

// TestLeaderAfterAPanic: nor does it keep the lease, for which others wait.
func TestLeaderAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRuns(t)
		c := newCandidate(r.told)
		close(c.elected)
		r.reg.ProcessManager = c
		r.register(explosive{agent{name: "one", told: r.told}})
		panics(t, r)
		if told := r.told.all(); r.host.running() || r.virtual.running() || told[len(told)-1] != "the process ends" {
			t.Errorf("a manager still runs: %q", told)
		}
	})
}
