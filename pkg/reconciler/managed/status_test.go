package managed_test

import (
	"context"
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestAStaleStatusIsNotWrittenOverANewerOne verifies that a pass does not overwrite a status that another process
// has written since its read, and is repeated.
func TestAStaleStatusIsNotWrittenOverANewerOne(t *testing.T) {
	cases := map[string]struct {
		reason string
		during string
		ready  bool // before the pass
	}{
		"Status": {"The write of the status is refused, and what is there now is read.", "Observe", true},
		"Result": {"The write of the result of a Create shows it.", "Create", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(nil)
			if tc.ready {
				w.pass()
				d := w.cloud.Disks()[0]
				d.UsedBytes = 5 // the status changes
				w.cloud.Put(d)
			}
			reported := false
			w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
				if call != tc.during || reported {
					return nil
				}
				reported = true
				v := w.get()
				said := commonv1.ReconcileError(errors.New("the disk is on fire"))
				said.ObservedGeneration = v.Generation
				v.SetConditions(said)

				return w.API.Status().Update(w.Context(), v)
			}
			if result := w.pass(); !reported || !result.Requeue { //nolint:staticcheck // the only silent, rate-limited way
				t.Errorf("%s\nresult %+v, want another pass", tc.reason, result)
			}
			w.condition(commonv1.TypeSynced, "False/ReconcileError")
			if used := w.get().Status.UsedBytes; used != 0 {
				t.Errorf("%s\n%d bytes are told of an earlier look", tc.reason, used)
			}
			w.pass()
			w.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
		})
	}
}
