package trials

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestD4OneWrongAbsence checks that one wrong "not found" for a healthy object leads to no
// second resource: the object keeps the first one.
func TestD4OneWrongAbsence(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.ready()
		wrong := 1
		w.cloud.Hidden = func(string) bool {
			wrong--

			return wrong >= 0
		}
		w.run(10 * time.Minute)
		if wrong > 0 {
			w.Fatal("Observe was not called")
		}
		w.isReady()
	})
}

// TestD4SecondLookBeforeCreate checks that an observed resource that is not found is observed
// again, five seconds later and over a new connection, before it is created again, with a
// Warning.
func TestD4SecondLookBeforeCreate(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.ready()
		var missed, made time.Time
		connections := 0
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			switch {
			case call == "Observe" && missed.IsZero():
				missed = time.Now()
			case call == "Connect" && !missed.IsZero() && made.IsZero():
				connections++
			case call == "Create" && made.IsZero():
				made = time.Now()
			}

			return nil
		}
		w.cloud.Remove("vol-1")
		w.events = nil
		w.run(15 * time.Minute)
		if made.IsZero() {
			return // a class may leave that to its user
		}
		if doubt := made.Sub(missed); doubt < 5*time.Second || connections == 0 {
			w.Errorf("created again %s after it was not found once, over %d new connections", doubt, connections)
		}
		if w.warnings() == 0 {
			w.Error("no Warning reports that the observed resource was created again")
		}
	})
}
