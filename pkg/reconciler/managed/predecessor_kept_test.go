package managed_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestANameOfAPredecessorDoesNotReplaceOurs verifies that a deterministic name survives a replace with a
// predecessor's manifest, and a restart.
func TestANameOfAPredecessorDoesNotReplaceOurs(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		w := succeeding(t, managed.WithDeterministicExternalName(true), managed.WithCreationGracePeriod(0))
		w.cloud.Named = true
		w.create(func(v *volume.Volume) { v.Spec.SizeGiB = 1 })
		for range 3 {
			w.pass()
		}
		ours := meta.GetExternalName(w.get())
		w.change(func(v *volume.Volume) { v.Annotations = map[string]string{theirName: "vol-0"} })
		if restarts {
			w.restart()
		}
		for range 4 {
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			_, _ = w.try()
		}
		if got := meta.GetExternalName(w.get()); got != ours {
			t.Errorf("restarts %t: the external name is %q, and was %q", restarts, got, ours)
		}
	}
}

// TestMarksOfAPredecessorStayUntilOursAreStored verifies that marks of a predecessor stay until ours are stored,
// because admission may drop the additions of a write and let its removals pass.
func TestMarksOfAPredecessorStayUntilOursAreStored(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		w := succeeding(t, managed.WithRetiredAnnotations(theirName, theirPending, theirSucceeded),
			managed.WithCreationGracePeriod(0))
		w.admit = func(o client.Object) {
			kept := maps.Clone(o.GetAnnotations())
			maps.DeleteFunc(kept, func(key, _ string) bool {
				return strings.HasPrefix(key, "moorage.dev/") || strings.HasPrefix(key, "krateo.io/")
			})
			o.SetAnnotations(kept)
		}
		w.create(left())
		for range 3 {
			_, _ = w.try()
			w.clock.SetTime(w.clock.Now().Add(20 * time.Minute))
			if restarts {
				w.restart()
			}
		}
		w.admit = nil
		for range 3 {
			_, _ = w.try()
			w.clock.SetTime(w.clock.Now().Add(20 * time.Minute))
		}
		if got := meta.GetExternalName(w.get()); got != "vol-0" || len(w.cloud.Disks()) != 1 {
			t.Errorf("restarts %t: external name %q, disks %v", restarts, got, w.cloud.Disks())
		}
	}
}

// TestNothingIsFoundOfAnEarlierProcess verifies that a lookup may return NotFound as an error.
func TestNothingIsFoundOfAnEarlierProcess(t *testing.T) {
	w := withoutRecord(t, false)
	w.cloud.Before = failing("Recover", external.NotFound(errBoom))
	for range 3 {
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		_, _ = w.try()
	}
	if n := w.cloud.Count("Create"); n != 1 {
		t.Errorf("%d calls of Create", n)
	}
}
