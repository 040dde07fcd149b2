package managed_test

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestNoCallWithoutANameOfOurChoice verifies that with deterministic names no client is called with an empty
// external name, even if an initializer or client removes it: an empty name may select all resources.
func TestNoCallWithoutANameOfOurChoice(t *testing.T) {
	unname := func(mg resource.Managed) { meta.SetExternalName(mg, "") }
	calls := []string{"Connect", "Observe", "Create", "Update", "Delete"}
	cases := map[string]struct {
		o      []managed.ReconcilerOption
		before func(*world)
		by     string // the call that removes the name
	}{
		"it never had one": {},
		"a user removes it": {before: func(w *world) {
			if !w.gone() {
				w.change(func(v *volume.Volume) { delete(v.Annotations, meta.AnnotationKeyExternalName) })
			}
		}},
		"a user empties it": {before: func(w *world) {
			if !w.gone() {
				w.change(func(v *volume.Volume) { meta.SetExternalName(v, "") })
			}
		}},
		"an initializer does": {o: []managed.ReconcilerOption{managed.WithInitializers(managed.InitializerFn(func(
			_ context.Context, mg resource.Managed) error {
			unname(mg)

			return nil
		}))}},
		"Connect does": {by: "Connect"}, "Observe does": {by: "Observe"}, "Create does": {by: "Create"},
		"Update does": {by: "Update"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(tc.o, managed.WithDeterministicExternalName(true),
				managed.WithCreationGracePeriod(0))...)
			w.cloud.Named = true
			seen := map[string]bool{}
			w.cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
				seen[call] = true
				if got := meta.GetExternalName(mg); got != key.Name {
					t.Errorf("%s is called with the name %q", call, got)
				}

				return nil
			}
			w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
				if call == tc.by {
					unname(mg)
				}

				return nil
			}
			between := func() {
				w.clock.SetTime(w.clock.Now().Add(time.Minute))
				if tc.before != nil {
					tc.before(w)
				}
			}
			w.create(nil)
			for _, change := range []func(){func() {},
				func() { w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 7 }) }, w.delete} {
				change()
				for range 3 {
					between()
					_, _ = w.try()
				}
			}
			for _, call := range calls {
				if !seen[call] && call != "Connect" {
					t.Errorf("%s was not called", call)
				}
			}
			if !w.gone() || len(w.cloud.Disks()) != 0 {
				t.Errorf("gone %t, disks %v", w.gone(), w.cloud.Disks())
			}
		})
	}
}
