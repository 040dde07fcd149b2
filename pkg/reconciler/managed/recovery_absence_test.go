package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestOneWrongNotFoundCreatesNoSecondResource verifies that one wrong NotFound, of a stale replica or a load
// balancer, does not recreate an observed resource: it is observed again over a new connection.
func TestOneWrongNotFoundCreatesNoSecondResource(t *testing.T) {
	for class, w := range unnamedClasses(t) {
		for _, restarted := range []bool{false, true} {
			wrong := 0
			w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
				if call == "Observe" && wrong > 0 {
					wrong--

					return external.NotFound(errLost)
				}

				return nil
			}
			if w.gone() {
				w.create(nil)
			}
			w.pass()
			if wrong = 1; restarted {
				w.restart()
			}
			w.taken()
			after := w.pass().RequeueAfter
			w.expect("", "Connect Observe", "")
			if after <= 0 || after > 6*time.Second {
				t.Errorf("%s, restarted %t: it is looked at again after %s", class, restarted, after)
			}
			w.clock.SetTime(w.clock.Now().Add(after))
			w.pass()
			w.expect("", "Connect Observe", "")
			if n := len(w.cloud.Disks()); n != 1 {
				t.Errorf("%s, restarted %t: %d disks", class, restarted, n)
			}
		}
	}
}

// TestAMissingResourceIsRecreatedWithAWarning verifies that a resource is recreated with a warning once its absence
// is confirmed, and at once with deterministic names.
func TestAMissingResourceIsRecreatedWithAWarning(t *testing.T) {
	worlds := unnamedClasses(t)
	worlds["named"] = newWorld(t, managed.WithDeterministicExternalName(true))
	for class, w := range worlds {
		w.create(nil)
		w.pass()
		for id := range w.cloud.Disks() {
			w.cloud.Remove(w.cloud.Disks()[id].ID)
		}
		w.clock.SetTime(w.clock.Now().Add(time.Minute)) // the grace period is over
		w.taken()
		passes := 0
		for ; len(w.cloud.Disks()) == 0 && passes < 20; passes++ {
			w.clock.SetTime(w.clock.Now().Add(w.pass().RequeueAfter))
		}
		_, _, events := w.taken()
		warned := strings.Contains(events, "Warning/ExternalResourceRecreated")
		if class == "named" && passes != 1 || class != "named" && (passes < 2 || passes > 8 || !warned) {
			t.Errorf("%s: created again in pass %d, told %s", class, passes, events)
		}
	}
}
