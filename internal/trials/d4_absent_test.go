package trials

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestD4OneWrongAbsence: one wrong "not found" for an object that is well makes no second
// resource: the object stands for the first one still.
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
			w.Fatal("nobody looked")
		}
		w.isReady()
	})
}

// TestD4SecondLookBeforeCreate: what was seen and is not found is looked for again, five
// seconds later and over a new connection, before it is created again; and that it was
// is told with a Warning.
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
			return // a class may as well leave that to its user
		}
		if doubt := made.Sub(missed); doubt < 5*time.Second || connections == 0 {
			w.Errorf("created again %s after it was not found once, over %d new connections", doubt, connections)
		}
		if w.warnings() == 0 {
			w.Error("no Warning tells that what was seen was created again")
		}
	})
}
