package syncer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestFleetAwaitsAllFormerSyncers verifies that a syncer waits for the last pass of all
// former syncers of its name, also if the one directly before it had no pass.
func TestFleetAwaitsAllFormerSyncers(t *testing.T) {
	cases := map[string]struct {
		reason  string
		between func(f *fleetTest)
	}{
		"Gone": {"Other clusters are engaged and disengaged in between.", func(f *fleetTest) {
			gone, leave := context.WithCancel(f.Context())
			leave()
			for range 16 { // select may choose either ready channel
				f.Must(f.Engage(gone, "red", f.virtual))
			}
		}},
		"Refused": {"Another Engage fails in between.", func(f *fleetTest) {
			f.failStep = "init"
			if err := f.Engage(f.Context(), "red", f.virtual); !errors.Is(err, errBoom) {
				f.Errorf("got error %v", err)
			}
			f.failStep = ""
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				ctx, stop := context.WithCancel(t.Context())
				disengage := f.engage("red")
				f.start(ctx)
				f.deliverVirtual()
				disengage()
				tc.between(f)
				synctest.Wait()
				f.engage("red")
				f.steps.steps = nil
				f.deliverVirtual()
				f.wantSteps(tc.reason + " The pass continues and no other one starts.")
				f.pass <- struct{}{}
				synctest.Wait()
				f.deliverVirtual()
				f.wantSteps(
					tc.reason+" The pass has ended and the last syncer runs.", "red 1: done",
					fmt.Sprintf("red %d: down", len(f.contexts)))
				close(f.pass)
				stop()
				if err := <-f.ended; err != nil {
					t.Error(err)
				}
				synctest.Wait()
			})
		})
	}
}
