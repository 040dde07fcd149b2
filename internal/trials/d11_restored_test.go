package trials

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestD11BackupWithinCreate restores an object elsewhere from a backup that was taken during
// Create: its UID is another, annotations and finalizers are kept, and there is no status. A
// second resource is not created without a warning.
func TestD11BackupWithinCreate(t *testing.T) {
	each(t, assigned, func(w *world) {
		var backup *volume.Volume
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Create" && backup == nil {
				backup = w.get()
			}

			return nil
		}
		w.ready()
		w.putBack(backup, "uid-2")
		w.run(10 * time.Minute)
		if disks := w.cloud.Disks(); len(disks) > 1 && !w.reported() {
			w.Errorf("there are the external resources %s, without a word", ids(disks))
		}
	})
}
