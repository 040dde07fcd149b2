package managed_test

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// attemptOf returns the id of an attempt to create for the object of a UID.
func attemptOf(uid string) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(uid))

	return fmt.Sprintf("0badcafe0badcafe-%08x", sum.Sum32())
}

// original creates the object that another one was copied from.
func (w *world) original(uid types.UID) {
	w.Helper()
	w.Create(&volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "original", UID: uid}})
}

// backup creates the object as it is restored from a backup that was made within Create, for
// an object of another UID.
func (w *world) backup() {
	w.Helper()
	w.create(func(v *volume.Volume) {
		v.UID = "uid-2"
		v.Finalizers = []string{managed.FinalizerName}
		v.Annotations = map[string]string{
			meta.AnnotationKeyExternalCreatePending: "2026-01-01T00:00:00Z",
			meta.AnnotationKeyCreateAttempt:         attemptOf("uid-1"),
		}
	})
}

// TestABackupWithinCreate verifies that an attempt that was pending in the backup is left to a user: nothing is
// created or deleted before the answer.
func TestABackupWithinCreate(t *testing.T) {
	annotate := func(key, value string) func(w *world) {
		return func(w *world) {
			w.change(func(v *volume.Volume) { meta.AddAnnotations(v, map[string]string{key: value}) })
		}
	}
	for name, tc := range map[string]struct {
		reason   string
		answers  func(w *world)
		want     string // the names of the external resources in the end
		reported string // the condition Synced
		gone     bool
	}{
		"Nothing": {"nobody has answered", func(*world) {}, "vol-9", "False/CreationUnresolved", false},
		"Replaced": {"a manifest is no answer",
			func(w *world) { w.change(strips["all annotations and finalizers"]) }, "vol-9",
			"False/CreationUnresolved", false},
		"Proceed": {"the mark was removed",
			func(w *world) { w.change(taking(meta.AnnotationKeyExternalCreatePending)) }, "vol-1 vol-9",
			"True/ReconcileSuccess", false},
		"Abandoned": {"the attempt was given up", annotate(meta.AnnotationKeyAbandonAttempt, attemptOf("uid-1")),
			"vol-1 vol-9", "True/ReconcileSuccess", false},
		"Named": {"its resource was found", annotate(meta.AnnotationKeyExternalName, "vol-9"), "vol-9",
			"True/ReconcileSuccess", false},
		"Original": {"the original lives, so that this is a copy", func(w *world) { w.original("uid-1") },
			"vol-1 vol-9", "True/ReconcileSuccess", false},
		"Forgotten": {"the cache shows an original, and the API server another object", func(w *world) {
			w.original("uid-1")
			w.restored = &volume.Volume{ObjectMeta: metav1.ObjectMeta{Name: "original", UID: "uid-3"}}
		}, "vol-9", "False/CreationUnresolved", false},
		"Deleted": {"what it may stand for would be left", func(w *world) { w.delete() }, "vol-9",
			"False/CreationUnresolved", false},
		"Given up": {"what it may stand for was given up", func(w *world) {
			annotate(meta.AnnotationKeyAbandonAttempt, attemptOf("uid-1"))(w)
			w.delete()
		}, "vol-9", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			for class, w := range unnamedClasses(t) {
				w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1, Token: "uid-1-" + attemptOf("uid-1")})
				w.backup()
				if name != "Original" {
					_, _ = w.try()
				}
				tc.answers(w)
				for range 5 {
					if tc.gone && w.gone() {
						break
					}
					_, _ = w.try()
					w.clock.SetTime(w.clock.Now().Add(time.Hour))
				}
				w.restored = nil
				var got []string
				for _, d := range w.cloud.Disks() {
					got = append(got, d.ID)
				}
				if all := strings.Join(got, " "); all != tc.want || w.gone() != tc.gone {
					t.Errorf("%s: %s: got %s, gone %t; want %s, %t", class, tc.reason, all, w.gone(), tc.want, tc.gone)
				}
				if !tc.gone {
					w.condition(commonv1.TypeSynced, tc.reported)
				}
			}
		})
	}
}

// TestARestoredObjectReportsItsOptions verifies that the condition says what a user can do, and that the named
// resource is marked as the object's own.
func TestARestoredObjectReportsItsOptions(t *testing.T) {
	w := newWorld(t)
	w.cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 1})
	w.backup()
	w.pass()
	message := w.condition(commonv1.TypeSynced, "False/CreationUnresolved").Message
	for _, part := range []string{meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalName,
		"restored or copied from"} {
		if !strings.Contains(message, part) {
			t.Errorf("%q does not say %q", message, part)
		}
	}
	w.change(func(v *volume.Volume) { meta.SetExternalName(v, "vol-9") })
	w.pass()
	if got, want := w.get().Annotations[meta.AnnotationKeyCreateAttempt], attemptOf("uid-2"); !strings.HasSuffix(got,
		want[strings.Index(want, "-"):]+"/succeeded") {
		t.Errorf("the attempt is %q, which is not that of this object", got)
	}
	w.restart()
	w.delete()
	w.pass()
	if n := len(w.cloud.Disks()); n != 0 {
		t.Errorf("%d disks are left", n)
	}
}
