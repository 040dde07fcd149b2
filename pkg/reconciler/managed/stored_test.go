package managed_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestNothingIsCreatedWhoseMarksAreNotStored verifies that nothing is created while admission drops annotations or
// finalizers; the object reports them, and recovers.
func TestNothingIsCreatedWhoseMarksAreNotStored(t *testing.T) {
	classes := map[string][]managed.ReconcilerOption{
		"opaque": nil,
		"named":  {managed.WithDeterministicExternalName(true)},
		"token":  {managed.WithCreationTokens()},
	}
	drops := map[string]struct {
		admit func(client.Object)
		names map[string]string // by class: what the object says is dropped; none: nothing of ours is
	}{
		"all annotations": {
			func(o client.Object) { o.SetAnnotations(nil) },
			map[string]string{
				"opaque": meta.AnnotationKeyCreateAttempt, "named": meta.AnnotationKeyExternalName,
				"token": meta.AnnotationKeyExternalCreatePending,
			},
		},
		"annotations of a prefix": {
			func(o client.Object) {
				kept := maps.Clone(o.GetAnnotations())
				maps.DeleteFunc(kept, func(key, _ string) bool { return strings.HasPrefix(key, "moorage.dev/") })
				o.SetAnnotations(kept)
			},
			map[string]string{"opaque": meta.AnnotationKeyCreateAttempt, "token": meta.AnnotationKeyCreateAttempt},
		},
		"finalizers": {
			func(o client.Object) { o.SetFinalizers(nil) },
			map[string]string{
				"opaque": managed.FinalizerName, "named": managed.FinalizerName,
				"token": managed.FinalizerName,
			},
		},
	}
	for class, options := range classes {
		for what, drop := range drops {
			t.Run(class+"/"+what, func(t *testing.T) {
				if drop.names[class] == "" {
					t.Log("nothing of ours is dropped")
				}
				w := newWorld(t, append(options, managed.WithPollInterval(time.Hour))...)
				w.cloud.Tokens = class == "token"
				w.admit = drop.admit
				w.create(nil)
				var waited time.Duration
				for range 8 {
					after := w.pass().RequeueAfter
					if drop.names[class] != "" && (after <= 0 || after > 10*time.Minute+time.Minute) {
						t.Errorf("the next pass is due in %s", after)
					}
					waited += after
					w.clock.SetTime(w.clock.Now().Add(after))
				}
				if drop.names[class] == "" {
					if n := len(w.cloud.Disks()); n != 1 {
						t.Errorf("%d disks, want 1", n)
					}

					return
				}
				if n := len(w.cloud.Disks()); n != 0 {
					t.Errorf("%d disks were created although it could not be recorded", n)
				}
				if c := w.condition(commonv1.TypeSynced, "False/MarksNotStored"); !strings.Contains(c.Message,
					drop.names[class]) {
					t.Errorf("%s is not named: %s", drop.names[class], c.Message)
				}
				if waited < 2*time.Minute {
					t.Errorf("eight passes within %s: they do not become rarer", waited)
				}
				w.admit = nil
				for range 3 {
					w.clock.SetTime(w.clock.Now().Add(w.pass().RequeueAfter))
				}
				if n := len(w.cloud.Disks()); n != 1 {
					t.Errorf("%d disks once everything is stored, want 1", n)
				}
			})
		}
	}
}

// TestAResultIsWrittenWhenTheAPIServerIsBack verifies that a result survives an outage of the API server longer
// than its retries in memory, in all classes.
func TestAResultIsWrittenWhenTheAPIServerIsBack(t *testing.T) {
	for class, options := range map[string][]managed.ReconcilerOption{"opaque": nil,
		"token": {managed.WithCreationTokens()}} {
		for _, deleted := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, append(options, managed.WithClock(realClock{}))...)
				w.cloud.Tokens = class == "token"
				away := false
				w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
					away = away || call == "Create"

					return nil
				}
				w.answer = func(context.Context, string) error {
					if away {
						return errLost
					}

					return nil
				}
				w.create(nil)
				_, _ = w.try()
				w.cloud.After = nil
				for range 3 {
					<-time.After(time.Minute)
					if _, err := w.try(); err == nil {
						t.Errorf("%s: the pass ended well although nothing can be stored", class)
					}
				}
				if away = false; deleted {
					w.delete()
				}
				for range 4 {
					<-time.After(time.Minute)
					if w.gone() {
						break
					}
					w.pass()
				}
				want := 1
				if deleted {
					want = 0
				}
				if n := len(w.cloud.Disks()); n != want || w.gone() != deleted {
					t.Errorf("%s, deleted %t: %d disks, gone %t", class, deleted, n, w.gone())
				}
				if !deleted {
					w.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
				}
			})
		}
	}
}

// TestAnUnwrittenResultIsNotWrittenOverAnother verifies that an unwritten result is not stored over the attempt of
// another process.
func TestAnUnwrittenResultIsNotWrittenOverAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, managed.WithClock(realClock{}))
		w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Create" {
				w.answer = func(context.Context, string) error { return errLost }
			}

			return nil
		}
		w.create(nil)
		_, _ = w.try()
		w.cloud.After, w.answer = nil, nil
		w.change(func(v *volume.Volume) {
			meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyCreateAttempt: "ffffffff"})
		})
		w.pass()
		if got := w.get().GetAnnotations(); got[meta.AnnotationKeyCreateAttempt] != "ffffffff" ||
			got[meta.AnnotationKeyExternalName] != "" {
			t.Errorf("the attempt of another process was overwritten: %v", got)
		}
		if w.condition(commonv1.TypeSynced, "False/ReconcileError"); len(w.cloud.Disks()) != 1 {
			t.Errorf("disks: %v", w.cloud.Disks())
		}
	})
}

// TestNothingIsCreatedWhoseResultHasNoRoom verifies that nothing is created if the result would not fit into the
// annotations.
func TestNothingIsCreatedWhoseResultHasNoRoom(t *testing.T) {
	const key, limit = "example.org/note", 256 << 10
	for reason, tc := range map[string]struct{ note, disks int }{
		"the intent fits, the result does not": {limit - 48 - 160, 0},
		"everything fits":                      {limit - 3<<10, 1},
	} {
		w := newWorld(t)
		w.create(func(v *volume.Volume) {
			v.Annotations = map[string]string{key: strings.Repeat("x", tc.note-len(key))}
		})
		_, _ = w.try()
		if n := len(w.cloud.Disks()); n != tc.disks {
			t.Errorf("%s: %d disks, want %d", reason, n, tc.disks)
		}
		if tc.disks > 0 {
			continue
		}
		if c := w.condition(commonv1.TypeSynced, "False/ReconcileError"); !strings.Contains(c.Message, "remove some") {
			t.Errorf("%s: %s", reason, c.Message)
		}
		w.change(func(v *volume.Volume) { delete(v.Annotations, key) })
		w.pass()
		if n := len(w.cloud.Disks()); n != 1 {
			t.Errorf("%s: %d disks once there is room, want 1", reason, n)
		}
	}
}
