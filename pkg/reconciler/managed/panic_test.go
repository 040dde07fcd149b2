package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestAClientThatPanics: a panic in any call is told on the object, which is tried again; it
// does not end the pass of anybody else. After that of a Create nobody knows what became of it.
func TestAClientThatPanics(t *testing.T) {
	for _, before := range []bool{true, false} {
		for _, call := range []string{"Connect", "Observe", "Create", "Update", "Delete"} {
			if call == "Connect" && !before {
				continue // it has no effect
			}
			w := newWorld(t)
			panics := func(_ context.Context, c string, mg resource.Managed) error {
				if c == call {
					if c == "Create" {
						meta.RemoveAnnotations(mg, meta.AnnotationKeyExternalName)
					}
					panic("index out of range of " + c)
				}

				return nil
			}
			arrange := func(hook func(context.Context, string, resource.Managed) error) {
				if before {
					w.cloud.Before = hook
				} else {
					w.cloud.After = hook
				}
			}
			if call == "Update" || call == "Delete" {
				w.create(nil)
				w.pass()
			}
			arrange(panics)
			switch call {
			case "Update":
				w.change(func(v *volume.Volume) { v.Spec.SizeGiB++ })
			case "Delete":
				w.delete()
			default:
				w.create(nil)
			}
			if _, err := w.try(); err == nil || !strings.Contains(err.Error(), "panic: index out of range") {
				t.Errorf("%s, before its effect %t: the pass answered %v", call, before, err)
			}
			if c := w.condition(commonv1.TypeSynced, "False/ClientPanicked"); !strings.Contains(c.Message, "panic: index out of range of "+call) {
				t.Errorf("%s: the condition says %q", call, c.Message)
			}
			arrange(nil)
			w.clock.SetTime(w.clock.Now().Add(time.Minute))
			_, _ = w.try()
			if n := w.cloud.Count("Create"); n != 1 {
				t.Errorf("%s, before its effect %t: %d creations", call, before, n)
			}
		}
	}
}
