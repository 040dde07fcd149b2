package managed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A careless client has annotations of its own, and replaces all that there are by them.
// After a creation they have the name, too. With finalizers it does as with those.
type careless struct {
	managed.ExternalClient

	answers map[string]error // of calls that had their effect
}

func (c careless) own(mg resource.Managed, call string) error {
	annotations := map[string]string{"example.org/last": call}
	if call == "Create" {
		annotations[meta.AnnotationKeyExternalName] = meta.GetExternalName(mg)
	}
	mg.SetAnnotations(annotations)
	mg.SetFinalizers([]string{"example.org/own"})

	return c.answers[call]
}

func (c careless) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := c.ExternalClient.Observe(ctx, mg)
	o.ResourceLateInitialized = o.ResourceExists

	return o, errors.Join(err, c.own(mg, "Observe"))
}

func (c careless) Create(ctx context.Context, mg resource.Managed) error {
	return errors.Join(c.ExternalClient.Create(ctx, mg), c.own(mg, "Create"))
}

func (c careless) Update(ctx context.Context, mg resource.Managed) error {
	return errors.Join(c.ExternalClient.Update(ctx, mg), c.own(mg, "Update"))
}

func (c careless) Delete(ctx context.Context, mg resource.Managed) error {
	return errors.Join(c.ExternalClient.Delete(ctx, mg), c.own(mg, "Delete"))
}

// Whatever a client does with the annotations, it takes no mark and no name away, and so
// nothing is created twice and nothing is left behind.
func TestACarelessClientTakesNoMark(t *testing.T) {
	for name, tc := range map[string]struct {
		answers map[string]error
		lost    bool // nobody knows what the creation led to
		handle  string
	}{
		"when all goes well":                          {},
		"when the answer of the creation is lost":     {answers: map[string]error{"Create": errLost}, lost: true},
		"when an update goes on":                      {answers: map[string]error{"Update": external.InProgress("op-1", time.Second)}, handle: "op-1"},
		"when an update fails":                        {answers: map[string]error{"Update": errLost}},
		"when a deletion is accepted and is not over": {answers: map[string]error{"Delete": external.InProgress("op-2", time.Second)}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed.WithCreationGracePeriod(0))
			w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return careless{c, tc.answers} })
			w.create(nil)
			for range 3 {
				_, _ = w.try()
				w.marked(tc.lost)
			}
			if tc.lost {
				return
			}
			w.change(func(v *volume.Volume) {
				v.Spec.SizeGiB = 2
				meta.AddFinalizer(v, "example.com/theirs")
				meta.RemoveFinalizer(v, managed.FinalizerName)
			})
			_, _ = w.try()
			w.marked(false)
			if finalizers := w.get().Finalizers; len(finalizers) != 2 || finalizers[0] != "example.com/theirs" {
				t.Errorf("finalizers %q", finalizers)
			}
			w.change(func(v *volume.Volume) { meta.RemoveFinalizer(v, "example.com/theirs") })
			if handle := w.get().Annotations[meta.AnnotationKeyOperation]; handle != tc.handle {
				t.Errorf("the operation is %q, want %q", handle, tc.handle)
			}
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

// Marked checks that there is one disk, and that the object is marked with it or with the
// attempt that nobody knows the end of.
func (w *world) marked(lost bool) {
	w.Helper()
	v := w.get()
	id, disks := v.Annotations[meta.AnnotationKeyCreateAttempt], w.cloud.Disks()
	if len(disks) != 1 || id == "" || v.Annotations[meta.AnnotationKeyExternalCreatePending] == "" || !lost && meta.GetExternalName(v) != disks[0].ID {
		w.Errorf("disks %v, annotations %v", disks, v.Annotations)
	}
}

// Nor does it take away by what users steer, or what others have noted.
func TestACarelessClientTakesNothingOfOthers(t *testing.T) {
	w := newWorld(t)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return careless{ExternalClient: c} })
	w.create(func(v *volume.Volume) {
		meta.AddAnnotations(v, map[string]string{
			meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan, "example.com/release": "7", "example.org/last": "never",
		})
	})
	w.pass()
	w.pass()
	for key, want := range map[string]string{
		meta.AnnotationKeyDeletionPolicy: meta.DeletionPolicyOrphan, "example.com/release": "7", "example.org/last": "Observe",
	} {
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
