package managed_test

import (
	"context"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestAProcessWithoutItsLeaseWritesNoStatus verifies that a process after its lease writes no status, which would
// overwrite that of the leader.
func TestAProcessWithoutItsLeaseWritesNoStatus(t *testing.T) {
	var deadline time.Time
	w := newWorld(t, managed.WithCreationGracePeriod(0),
		managed.WithLeaseDeadline(func() time.Time { return deadline }))
	w.create(nil)
	w.pass()
	w.taken()
	down := errors.New("down")
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Observe" {
			return down
		}

		return nil
	}
	deadline = w.clock.Now().Add(-time.Second)
	if _, err := w.try(); !errors.Is(err, down) {
		t.Errorf("error %v", err)
	}
	w.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
	deadline = w.clock.Now().Add(time.Minute)
	_, _ = w.try()
	w.condition(commonv1.TypeSynced, "False/ReconcileError")
}
