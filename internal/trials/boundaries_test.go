package trials

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Boundaries are moments of a story: before or after a call of the client, or before a write or
// a live read of the API server. They are counted.
type boundaries struct {
	seen int
	at   int // the fault happens at this one
	name string

	settled bool // no fault happens any more
}

// reach reports whether this is the moment.
func (b *boundaries) reach(name string) bool {
	if b.settled {
		return false
	}
	b.seen++
	if b.seen != b.at {
		return false
	}
	b.name = fmt.Sprintf("%s (%d)", name, b.seen)

	return true
}

// grow creates the object, waits until it is ready, and changes it.
func (w *world) grow() {
	w.Helper()
	w.create()
	w.run(70 * time.Second)
	w.resize(2)
	w.run(70 * time.Second)
}

func (w *world) resize(gib int64) {
	w.Helper()
	v := w.get()
	v.Spec.SizeGiB = gib
	v.Generation++ // the fake API server does not
	w.Must(w.API.Update(w.Context(), v))
}

// TestD1ReplaceAtAnyBoundary checks that a loss of metadata alone, at any boundary, leads to no
// second resource, and to no leftover after a deletion; also if the process ends with that
// pass.
func TestD1ReplaceAtAnyBoundary(t *testing.T) {
	annotations := func(v *volume.Volume) { v.SetAnnotations(nil) }
	finalizers := func(v *volume.Volume) { v.SetFinalizers(nil) }
	both := func(v *volume.Volume) { annotations(v); finalizers(v) }
	for name, tc := range map[string]struct {
		take func(*volume.Volume)
		ends bool
	}{
		"annotations": {annotations, false}, "finalizers": {finalizers, false}, "both": {both, false},
		"restart": {both, true},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, classes, func(w *world) {
				for at := 1; w.replacedAt(at, tc.take, tc.ends); at++ {
				}
			})
		})
	}
}

// replacedAt removes metadata of an object at one boundary of its story, and may end the process with that pass. It
// reports whether the story has such a boundary, and nothing failed.
func (w *world) replacedAt(at int, take func(*volume.Volume), ends bool) bool {
	w.Helper()
	b, story := &boundaries{at: at}, w.again()
	replaces := func(name string) {
		if v := atKey(); story.Find(v) && b.reach(name) {
			take(v)
			story.Must(story.API.Update(story.Context(), v))
			story.ends = ends
		}
	}
	story.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		replaces("before " + call)

		return nil
	}
	story.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		replaces("after " + call)

		return nil
	}
	story.answer = func(r write) error {
		replaces("before " + r.verb)

		return nil
	}
	story.grow()
	b.settled = true
	story.run(3 * time.Minute)
	b.settled = false
	if disks := story.cloud.Disks(); len(disks) > 1 {
		w.Errorf("replace %s: there are the external resources %s", b.name, ids(disks))
	}
	story.Delete(atKey())
	story.run(10 * time.Minute)
	if disks := story.cloud.Disks(); story.Gone(atKey()) && len(disks) > 0 {
		w.Errorf("replace %s: the object is gone, and %s is left", b.name, ids(disks))
	}

	return b.name != "" && !w.Failed()
}

// TestD2GenericNotFoundAtAnyBoundary answers any one request to the API server with a 404 that
// is not about the object: nothing is deleted, created twice or forgotten, and a deleted object
// is removed.
func TestD2GenericNotFoundAtAnyBoundary(t *testing.T) {
	each(t, classes, func(w *world) {
		for at := 1; ; at++ {
			b, story := &boundaries{at: at}, w.again()
			refuses := func(name string) error {
				if b.reach(name) {
					return generic404(volumes, key.Name)
				}

				return nil
			}
			story.answer = func(r write) error { return refuses(r.verb) }
			story.live = func() error { return refuses("get") }
			story.grow()
			b.settled = true
			story.run(3 * time.Minute)
			b.settled = false
			if story.cloud.Count("Delete") > 0 {
				w.Errorf("404 to %s: Delete was called: %v", b.name, story.cloud.Calls())
			}
			if disks := story.cloud.Disks(); len(disks) != 1 || disks[0].SizeGiB != 2 || !ready(story.get()) {
				w.Errorf("404 to %s: there are %+v, and the object is ready: %t", b.name, disks, ready(story.get()))
			}
			story.Delete(atKey())
			story.run(10 * time.Minute)
			if disks := story.cloud.Disks(); !story.Gone(atKey()) || len(disks) > 0 {
				w.Errorf("404 to %s: after the deletion the object is gone: %t, and there are %s", b.name,
					story.Gone(atKey()), ids(disks))
			}
			if b.name == "" || w.Failed() {
				return
			}
		}
	})
}

func ready(v *volume.Volume) bool {
	return v.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue &&
		v.GetCondition(commonv1.TypeSynced).Status == metav1.ConditionTrue
}
