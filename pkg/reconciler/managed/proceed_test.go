package managed_test

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// The attempt of another runtime is recorded by its time alone. Who removes that says that it is
// safe to proceed, also before anybody could ask: while the external system cannot be reached.
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
