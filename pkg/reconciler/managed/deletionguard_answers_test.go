package managed_test

import (
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestTheGuardSaysForWhom verifies that a retained resource is reported with the parent that is deleted, once, and
// that nothing is deleted while the parent cannot be read.
func TestTheGuardSaysForWhom(t *testing.T) {
	cases := map[string]struct {
		leaving func(*world)
		unread  bool
		says    string
	}{
		"the namespace goes": {(*world).leavingNamespace, false,
			"The external resource was left as it is: the object is deleted because Namespace default is"},
		"the kind goes": {(*world).leavingDefinition, false,
			"The external resource was left as it is: the object is deleted because CustomResourceDefinition " +
				definition + " is"},
		"nobody can tell": {(*world).leavingNamespace, true,
			"delete failed: cannot tell whether Namespace default is being deleted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed.WithDeletionGuard())
			w.create(nil)
			w.pass()
			w.pass()
			tc.leaving(w)
			w.delete()
			w.taken()
			if tc.unread {
				w.failLive = 1
				if _, err := w.try(); err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("error %v, want %q", err, tc.says)
				}
				if _, calls, _ := w.taken(); calls != "Connect Observe" || w.gone() {
					t.Errorf("calls %q, gone %t", calls, w.gone())
				}

				return
			}
			w.change(func(v *volume.Volume) { v.Finalizers = append(v.Finalizers, "foregroundDeletion") })
			w.pass()
			if len(w.events) != 1 || w.events[0].Message != tc.says {
				t.Errorf("told %+v, want %q", w.events, tc.says)
			}
			if n := len(w.cloud.Disks()); n != 1 {
				t.Errorf("%d disks", n)
			}
		})
	}
}
