package trials

import (
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/moorage-dev/moorage/internal/volume"
)

// How many bytes of annotations an API server accepts for an object.
const room = 256 << 10

// bounds makes the API server refuse annotations that do not fit.
func (w *world) bounds(r write) error {
	v := atKey()
	if r.verb != "patch" || !w.Find(v) {
		return nil
	}
	all := v.GetAnnotations()
	for k, value := range r.annotations() {
		if text, sets := value.(string); sets {
			if all == nil {
				all = map[string]string{}
			}
			all[k] = text
		} else {
			delete(all, k)
		}
	}
	size := 0
	for k, value := range all {
		size += len(k) + len(value)
	}
	if size <= room {
		return nil
	}

	return kerrors.NewInvalid(volume.GroupVersion.WithKind("Volume").GroupKind(), key.Name,
		field.ErrorList{field.TooLong(field.NewPath("metadata", "annotations"), "", room)})
}

// TestD8ResultWithoutRoom checks that, whatever room the annotations of an object leave, either
// nothing is created and that is reported, or the name of the created resource is kept.
func TestD8ResultWithoutRoom(t *testing.T) {
	in(t, opaque, func(w *world) {
		for _, left := range []int{128, 160, 192, 256, 384} {
			story := w.again()
			story.answer = story.bounds
			story.create(func(v *volume.Volume) {
				v.SetAnnotations(map[string]string{"example.org/note": strings.Repeat("x",
					room-left-len("example.org/note"))})
			})
			for range 3 {
				_, _ = story.pass() // an error requeues the object
				wait(time.Minute)
			}
			disks, name := story.cloud.Disks(), story.get().GetAnnotations()["krateo.io/external-name"]
			switch {
			case len(disks) > 1 || len(disks) == 1 && name != disks[0].ID:
				w.Errorf("with room for %d bytes %s was created, and the object has the name %q", left, ids(disks),
					name)
			case len(disks) == 0 && !story.reported():
				w.Errorf("with room for %d bytes nothing was created, and that is not reported", left)
			}
		}
	})
}
