package managed

import (
	"testing"

	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A healthManager has a health endpoint, and says how many workers a controller has.
type healthManager struct {
	fake.Manager

	workers int
	checks  map[string]healthz.Checker
}

func (m *healthManager) GetControllerOptions() ctrlconfig.Controller {
	return ctrlconfig.Controller{MaxConcurrentReconciles: m.workers}
}

func (m *healthManager) AddHealthzCheck(name string, check healthz.Checker) error {
	if m.checks == nil {
		return errors.New("there is no health endpoint")
	}
	m.checks[name] = check

	return nil
}

// TestALivenessCountsWorkers verifies that the check uses the number of workers of the controller or the manager,
// or one, and passes without a reconciler.
func TestALivenessCountsWorkers(t *testing.T) {
	for name, tc := range map[string]struct{ own, manager, want int }{
		"its own": {3, 5, 3}, "one of its own": {1, 5, 1}, "those of the manager": {0, 5, 5}, "one": {0, 0, 1},
		"a number that is none": {-1, -1, 1},
	} {
		m := &healthManager{workers: tc.manager, checks: map[string]healthz.Checker{}}
		l := addLiveness(m, "managed/volume", ctrlcontroller.Options{MaxConcurrentReconciles: tc.own})
		if l.workers != tc.want {
			t.Errorf("%s: %d workers", name, l.workers)
		}
		if check := m.checks["managed/volume"]; check == nil || check(nil) != nil {
			t.Errorf("%s: the check is not there, or fails before there is a reconciler", name)
		}
	}
	if l := addLiveness(&healthManager{}, "managed/volume", ctrlcontroller.Options{}); l == nil {
		t.Error("a manager without a health endpoint is none")
	}
}
