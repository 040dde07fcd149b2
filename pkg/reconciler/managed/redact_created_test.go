package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestTheConditionCreatedNamesWhatIsADetail verifies that the condition Created contains the external name although
// that is a connection detail: later passes read it.
func TestTheConditionCreatedNamesWhatIsADetail(t *testing.T) {
	for name, id := range map[string]string{
		"a name":                   "vol-77",
		"what looks like a secret": "gh" + "p_0123456789abcdefghijABCDEFGHIJ012345",
	} {
		w := newWorld(t)
		w.create(nil)
		w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
			if call != "Create" {
				return nil
			}
			made := w.cloud.Disks()[0]
			w.cloud.Remove(made.ID)
			made.ID, made.Password = id, "correct horse"
			w.cloud.Put(made)
			meta.SetExternalName(mg, id)

			return nil
		}
		w.pass()
		if c := w.condition("Created", "True/Observed"); !strings.Contains(c.Message, id) {
			t.Errorf("%s: the condition Created says %q", name, c.Message)
		}
		w.restart()
		w.cloud.Remove(id)
		for range 4 {
			w.pass()
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
		}
		if c := w.get().GetCondition("Synced"); strings.Contains(c.Message, "never was") {
			t.Errorf("%s: what was found is told as never seen: %s", name, c.Message)
		}
	}
}
