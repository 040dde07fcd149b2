package managed_test

import (
	"context"
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestWhatAnInitializerHasWrittenIsNotWrittenAgain verifies that the writes of an initializer, of labels,
// annotations and spec, are not repeated, and that the pass reports their generation.
func TestWhatAnInitializerHasWrittenIsNotWrittenAgain(t *testing.T) {
	var w *world
	armed := false
	w = newWorld(t, managed.WithInitializers(managed.InitializerFn(func(ctx context.Context,
		mg resource.Managed) error {
		v, ok := mg.(*volume.Volume)
		if !ok || !armed {
			return nil
		}
		armed = false
		v.Labels, v.Annotations["example.com/tier"] = map[string]string{"tier": "gold"}, "gold"
		v.Generation, v.Spec.SizeGiB = 2, 2

		return w.API.Update(ctx, v)
	})))
	w.create(nil)
	w.pass()
	w.pass()
	w.taken()
	armed = true
	w.pass()
	w.expect("patch status", "Connect Observe Update Observe", "Normal/UpdatedExternalResource")
	w.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
	if v, disks := w.get(), w.cloud.Disks(); v.Labels["tier"] != "gold" ||
		v.Annotations["example.com/tier"] != "gold" || disks[0].SizeGiB != 2 {
		t.Errorf("labels %v, annotations %v, disks %v", v.Labels, v.Annotations, disks)
	}
	w.pass()
	w.expect("", look, "")
}
