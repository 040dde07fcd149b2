package syncer_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// TestFleetWaitsForAllFormers: a virtual cluster waits for the last pass of all that had its name before. It does so, too, if the one directly before it had
// no pass, because it went at once or was refused.
func TestFleetWaitsForAllFormers(t *testing.T) {
	cases := map[string]struct {
		reason  string
		between func(f *fleet)
	}{
		"Gone": {"Some come and go in the meantime.", func(f *fleet) {
			gone, leave := context.WithCancel(f.Context())
			leave()
			for range 16 { // each may be told first that the fleet is started, or that its context has ended
				f.Must(f.Engage(gone, "red", f.virtual))
			}
		}},
		"Refused": {"One is refused in the meantime.", func(f *fleet) {
			f.fails = "init"
			if err := f.Engage(f.Context(), "red", f.virtual); !errors.Is(err, errBoom) {
				f.Errorf("got error %v", err)
			}
			f.fails = ""
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				ctx, stop := context.WithCancel(t.Context())
				disengage := f.engage("red")
				f.start(ctx)
				f.shows()
				disengage()
				tc.between(f)
				synctest.Wait()
				f.engage("red")
				f.told.told = nil
				f.shows()
				f.wantSteps(tc.reason + " The pass goes on, and nobody makes another one.")
				f.pass <- struct{}{}
				synctest.Wait()
				f.shows()
				f.wantSteps(tc.reason+" The pass is over, and the last one works.", "red 1: done", fmt.Sprintf("red %d: down", len(f.contexts)))
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
