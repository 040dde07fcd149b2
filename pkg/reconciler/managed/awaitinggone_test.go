package managed_test

import (
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestADeletedObjectReportsWhyItIsKept verifies that a deleted object whose resource is not found within the grace
// period reports why it is kept, in one status write.
func TestADeletedObjectReportsWhyItIsKept(t *testing.T) {
	hidden := func(string) bool { return true }
	for name, tc := range map[string]struct {
		make   func(t *testing.T) *world
		writes string
		says   string
	}{
		"the record may be lost": {func(t *testing.T) *world {
			w := withoutRecord(t, false)
			w.change(func(v *volume.Volume) { v.Finalizers = []string{managed.FinalizerName} })

			return w
		}, "patch status", "before this process became the leader"},
		"a creation was interrupted": {func(t *testing.T) *world {
			w := newWorld(t)
			w.cloud.Window, w.cloud.Before = 30*time.Second, failing("Create", errLost)
			w.create(nil)
			_, _ = w.try()

			return w
		}, "patch status", "what a creation led to is not known"},
		"it was created lately": {func(t *testing.T) *world {
			w := newWorld(t, managed.WithCreationGracePeriod(time.Minute))
			w.cloud.Hidden = hidden
			w.create(nil)
			w.pass()

			return w
		}, "patch status", "the creation grace period (1m0s)"},
		"it is found by its attempt": {func(t *testing.T) *world {
			w := newWorld(t, managed.WithCreationGracePeriod(0))
			w.cloud.Window = 30 * time.Second
			w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return blind{c} })
			w.create(nil)
			w.pass()
			w.cloud.Swallow, w.cloud.Before = errBoom, failing("Delete", errBoom)

			return w
		}, "patch status", "found by its attempt"},
		"it was there before": {func(t *testing.T) *world {
			w := newWorld(t)
			w.create(nil)
			w.pass()
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			w.pass()
			w.cloud.Hidden = hidden

			return w
		}, "patch status", "no Delete explains that"},
		"it is another's": {func(t *testing.T) *world {
			w := newWorld(t)
			lies := []managed.Owner{managed.OwnerOurs, managed.OwnerOther, managed.OwnerOther}
			w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return telling{c, &lies} })
			w.create(nil)
			w.pass()
			w.clock.SetTime(w.clock.Now().Add(time.Hour))

			return w
		}, "patch status", "is not the object's by its stamp"},
	} {
		t.Run(name, func(t *testing.T) {
			w := tc.make(t)
			w.delete()
			w.taken()
			w.pass()
			if requests, _, _ := w.taken(); requests != tc.writes {
				t.Errorf("requests: got %q, want %q", requests, tc.writes)
			}
			c := w.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
			if !strings.Contains(c.Message, tc.says) || !strings.Contains(c.Message, "the object stays") {
				t.Errorf("Synced says %q, want %q", c.Message, tc.says)
			}
			w.condition(commonv1.TypeReady, "False/Deleting")
			w.clock.SetTime(w.clock.Now().Add(time.Second))
			w.pass()
			if requests, _, _ := w.taken(); requests != "" || w.gone() {
				t.Errorf("a second later: requests %q, gone %t", requests, w.gone())
			}
		})
	}
}

// TestADeletionSaysNothingOfAWait verifies that an ordinary deletion reports no wait, and needs no additional
// write.
func TestADeletionSaysNothingOfAWait(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Minute)) // nothing of the creation is in doubt any more
	w.cloud.Swallow, w.cloud.Before = errBoom, failing("Delete", errBoom)
	w.delete()
	w.taken()
	w.pass()
	w.expect("patch status", "Connect Observe Delete Observe", "Normal/DeletedExternalResource")
	if c := w.condition(commonv1.TypeSynced, "True/ReconcileSuccess"); c.Message != "" {
		t.Errorf("Synced says %q", c.Message)
	}
	w.cloud.Hidden = func(string) bool { return true }
	w.pass()
	w.expect("patch", "Connect Observe", "")
	if !w.gone() {
		t.Error("the object is there")
	}
}
