package managed_test

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestAUserProceedsBeforeAnybodyAsks verifies that a user can resolve the attempt of another runtime by removing
// its pending mark, also while the external system is unreachable.
func TestAUserProceedsBeforeAnybodyAsks(t *testing.T) {
	w := newWorld(t)
	w.create(func(v *volume.Volume) {
		meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyExternalCreatePending: "2026-01-01T00:00:00Z"})
	})
	w.cloud.Before = failing("Connect", errLost)
	if _, err := w.try(); err == nil {
		t.Fatal("it can be reached")
	}
	w.change(taking(meta.AnnotationKeyExternalCreatePending))
	w.cloud.Before = nil
	w.pass()
	w.condition("Ready", "True/Available")
	if n := w.cloud.Count("Create"); n != 1 {
		t.Errorf("%d creations", n)
	}
}
