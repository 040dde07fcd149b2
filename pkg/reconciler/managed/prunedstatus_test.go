package managed_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Ways in which clients treat an object as if it was theirs alone. Name is what they give
// in the call, if they give one.
var careless = map[string]func(mg resource.Managed, name string){
	"replaces what is there": func(mg resource.Managed, name string) {
		mg.SetAnnotations(map[string]string{"example.org/own": "1"})
		if name != "" {
			meta.SetExternalName(mg, name)
		}
		mg.SetFinalizers([]string{"example.org/own"})
	},
	"clears what is there in its place": func(mg resource.Managed, name string) {
		clear(mg.GetAnnotations())
		clear(mg.GetFinalizers())
		if name != "" {
			meta.SetExternalName(mg, name)
		}
	},
	"empties the name": func(mg resource.Managed, name string) { meta.SetExternalName(mg, name) },
	"has marks of another runtime": func(mg resource.Managed, _ string) {
		meta.AddAnnotations(mg, map[string]string{
			meta.AnnotationKeyExternalCreatePending: "2036-01-01T00:00:00Z",
			meta.AnnotationKeyCreateAttempt:         "0badcafe",
			meta.AnnotationKeyBackendIdentity:       "elsewhere", meta.AnnotationKeyOperation: "op-9",
		})
	},
}

// treats lets clients change objects in a way, and then return the given answers.
func (w *world) treats(way func(resource.Managed, string), answers map[string]error) {
	w.cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Connect" {
			way(mg, "")
		}

		return nil
	}
	w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
		name := ""
		if call == "Create" || call == "Recover" {
			name = meta.GetExternalName(mg)
		}
		way(mg, name)

		return answers[call]
	}
}

// TestACarelessClientTakesNothingAway verifies that no mark, name or finalizer is lost by a client that changes
// metadata, so that nothing is created twice or left.
func TestACarelessClientTakesNothingAway(t *testing.T) {
	stories := map[string]struct {
		answers map[string]error
		window  time.Duration // in which the client finds what was created
		lost    bool          // the result of the creation is unknown
		handle  string
	}{
		"all goes well":                      {},
		"the answer of the creation is lost": {answers: map[string]error{"Create": errLost}, lost: true},
		"what was created is looked up":      {answers: map[string]error{"Create": errLost}, window: time.Second},
		"an update goes on": {
			answers: map[string]error{"Update": external.InProgress("op-1", time.Second)},
			handle:  "op-1",
		},
		"an update fails": {answers: map[string]error{"Update": errLost}},
		"a deletion is accepted, and goes on": {answers: map[string]error{"Delete": external.InProgress("op-2",
			time.Second)}},
	}
	for manner, way := range careless {
		for story, tc := range stories {
			t.Run(manner+"/"+story, func(t *testing.T) {
				w := newWorld(t, managed.WithCreationGracePeriod(0))
				w.cloud.Window = tc.window
				w.treats(way, tc.answers)
				w.create(nil)
				for range 3 {
					_, _ = w.try()
					w.marked(tc.lost)
				}
				if tc.lost {
					return
				}
				w.change(func(v *volume.Volume) {
					v.Spec.SizeGiB, v.Finalizers = 2, []string{"example.com/theirs"}
				})
				_, _ = w.try()
				w.marked(false)
				if v := w.get(); !slices.Equal(v.Finalizers,
					[]string{"example.com/theirs", managed.FinalizerName}) ||
					v.Annotations[meta.AnnotationKeyOperation] != tc.handle {
					t.Errorf("finalizers %q, operation %q", v.Finalizers, v.Annotations[meta.AnnotationKeyOperation])
				}
				w.change(func(v *volume.Volume) { meta.RemoveFinalizer(v, "example.com/theirs") })
				w.delete()
				for range 3 {
					_, _ = w.try()
				}
				if disks := w.cloud.Disks(); !w.gone() || len(disks) != 0 {
					t.Errorf("gone %t, disks %v", w.gone(), disks)
				}
			})
		}
	}
}

// marked checks that there is one disk, and that the object is marked with it or with the unresolved attempt.
func (w *world) marked(lost bool) {
	w.Helper()
	v := w.get()
	id, disks := v.Annotations[meta.AnnotationKeyCreateAttempt], w.cloud.Disks()
	if len(disks) != 1 || id == "" || id == "0badcafe" ||
		v.Annotations[meta.AnnotationKeyExternalCreatePending] == "" ||
		v.Annotations[meta.AnnotationKeyBackendIdentity] != "" ||
		!lost && meta.GetExternalName(v) != disks[0].ID {
		w.Errorf("disks %v, annotations %v", disks, v.Annotations)
	}
}

// TestACarelessClientTakesNothingOfOthers verifies that annotations of users and of other controllers stay.
func TestACarelessClientTakesNothingOfOthers(t *testing.T) {
	w := newWorld(t)
	w.treats(careless["replaces what is there"], nil)
	noted := map[string]string{meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan, "example.com/release": "7"}
	w.create(func(v *volume.Volume) { meta.AddAnnotations(v, noted) })
	w.pass()
	w.pass()
	noted["example.org/own"] = "1"
	for key, want := range noted {
		if got := w.get().Annotations[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	w.delete()
	w.pass()
	if disks := w.cloud.Disks(); !w.gone() || len(disks) != 1 {
		t.Errorf("gone %t, disks %v: what was to be left alone was not", w.gone(), disks)
	}
}

// TestAClientThatReadsTheObject verifies that a client may read the object again: concurrent additions stay, and
// removals are not reverted.
func TestAClientThatReadsTheObject(t *testing.T) {
	w := newWorld(t)
	w.create(func(v *volume.Volume) {
		v.Finalizers = []string{"example.com/old"}
		meta.AddAnnotations(v, map[string]string{"example.com/old": "1"})
	})
	w.cloud.After = func(ctx context.Context, call string, mg resource.Managed) error {
		if call != "Observe" || len(w.cloud.Disks()) > 0 {
			return nil
		}
		w.change(func(v *volume.Volume) {
			v.Finalizers, v.Annotations = []string{"example.com/new"}, map[string]string{"example.com/new": "1"}
		})

		return w.API.Get(ctx, key, mg)
	}
	w.pass()
	w.pass()
	v := w.get()
	if old := v.Annotations["example.com/old"]; old != "" || v.Annotations["example.com/new"] != "1" ||
		!slices.Equal(v.Finalizers, []string{"example.com/new", managed.FinalizerName}) {
		t.Errorf("finalizers %q, annotations %v", v.Finalizers, v.Annotations)
	}
}

// A carelessDisk replaces the annotations of what it was shown in a list, too.
type carelessDisk struct{ typedDisk }

func (d carelessDisk) ObserveListed(ctx context.Context, v *volume.Volume,
	listed any) (managed.ExternalObservation, error) {
	defer v.SetAnnotations(nil)

	return d.typedDisk.ObserveListed(ctx, v, listed)
}

// TestACarelessLister verifies that list items are used although the lister changes metadata.
func TestACarelessLister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pollsByList(t, func(d typedDisk) managed.TypedExternalClient[*volume.Volume] { return carelessDisk{d} })
	})
}
