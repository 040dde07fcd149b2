package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

func TestASecondCreationIsOursToo(t *testing.T) {
	owner := managed.OwnerNone
	w := newWorld(t, managed.WithCreationGracePeriod(0))
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return owning{c, &owner} })
	w.create(nil)
	w.pass()
	w.condition("Ready", "True/Available")
	w.cloud.Remove("vol-1")
	w.pass()
	w.condition("Synced", "True/ReconcileSuccess")
	w.pass()
	w.condition("Synced", "True/ReconcileSuccess")
	w.delete()
	w.pass()
	if w.gone() && len(w.cloud.Disks()) > 0 {
		t.Errorf("leak: %v", w.cloud.Disks())
	}
}

func TestANameThatObserveChangesIsStored(t *testing.T) {
	owner := managed.OwnerNone
	w := newWorld(t, managed.WithCreationGracePeriod(0))
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return owning{c, &owner} })
	w.create(nil)
	w.pass()
	// the system migrates ids, the client follows
	w.cloud.Remove("vol-1")
	w.cloud.Put(volume.Disk{ID: "disk/vol-1", SizeGiB: 1})
	w.cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Observe" && meta.GetExternalName(mg) == "vol-1" {
			meta.SetExternalName(mg, "disk/vol-1")
		}
		return nil
	}
	w.pass()
	w.condition("Synced", "True/ReconcileSuccess")
	w.delete()
	w.pass()
	if w.gone() && len(w.cloud.Disks()) > 0 {
		t.Errorf("leak: %v", w.cloud.Disks())
	}
}

func TestAFoundResourceResolvesItsCreationWhileDeleting(t *testing.T) {
	w := newWorld(t)
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			return context.DeadlineExceeded
		}
		return nil
	}
	w.create(nil)
	_, _ = w.try()
	w.cloud.After = nil
	w.delete()
	for range 4 {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		if w.gone() {
			return
		}
	}
	t.Errorf("stuck, disks %v: %+v", w.cloud.Disks(), w.get().GetCondition("Synced"))
}

func TestAnAdoptionCountsForTheNameItWasMadeFor(t *testing.T) {
	owner := managed.OwnerNone
	w := newWorld(t, managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return owning{c, &owner} })
	w.cloud.Put(volume.Disk{ID: "data", SizeGiB: 1})
	w.cloud.Put(volume.Disk{ID: "somebodys", SizeGiB: 50})
	w.create(func(v *volume.Volume) {
		v.Annotations = map[string]string{meta.AnnotationKeyAdoptionPolicy: "if-unowned"}
	})
	w.pass()
	w.change(func(v *volume.Volume) {
		delete(v.Annotations, meta.AnnotationKeyAdoptionPolicy)
	})
	w.pass()
	w.change(func(v *volume.Volume) { meta.SetExternalName(v, "somebodys") })
	owner = managed.OwnerNone
	w.pass()
	for _, d := range w.cloud.Disks() {
		if d.ID == "somebodys" && d.SizeGiB != 50 {
			t.Errorf("changed %v", d)
		}
	}
}

func TestWhatAnUpdateHidesWasNotCreated(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 5 })
	hidden := false
	w.cloud.Hidden = func(string) bool { return hidden }
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Update" {
			hidden = true
		}
		return nil
	}
	w.pass()
	if c := w.get().GetCondition("Synced"); c.Reason == "CreationPending" {
		t.Errorf("nothing was created in this pass: %+v", c)
	}
	w.pass()
	if n := len(w.cloud.Disks()); n != 1 {
		t.Errorf("second: %d", n)
	}
}

func TestAnAdoptionAfterALostRaceIsMarked(t *testing.T) {
	w := newWorld(t)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return unownedClient{c} })
	w.cloud.Put(volume.Disk{ID: "vol-77", SizeGiB: 1})
	w.create(func(v *volume.Volume) {
		v.Finalizers = []string{managed.FinalizerName}
		v.Annotations = map[string]string{
			meta.AnnotationKeyAdoptionPolicy: "if-unowned",
			meta.AnnotationKeyExternalName:   "vol-77",
		}
	})
	w.pass()
	w.condition("Ready", "True/Available")
	w.change(func(v *volume.Volume) { delete(v.Annotations, meta.AnnotationKeyAdoptionPolicy) })
	w.pass()
	w.condition("Synced", "True/ReconcileSuccess")
}

func TestANameThatIsSetBackIsNoticed(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	first := w.get()
	w.change(func(v *volume.Volume) { meta.SetExternalName(v, "typo") })
	before := w.get()
	if !w.r.Predicate().Update(ctrlevent.UpdateEvent{ObjectOld: first, ObjectNew: before}) {
		t.Error("a user's change is not seen")
	}
	w.change(func(v *volume.Volume) { meta.SetExternalName(v, "vol-1") })
	if !w.r.Predicate().Update(ctrlevent.UpdateEvent{ObjectOld: before, ObjectNew: w.get()}) {
		t.Error("a user's change is not seen")
	}
}

func TestAnnotationsOfAFailingCreateAreOurOwnWrites(t *testing.T) {
	w := newWorld(t)
	n := 0
	w.cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
		if call != "Create" {
			return nil
		}
		n++
		meta.AddAnnotations(mg, map[string]string{"example.org/request": strings.Repeat("x", n)})
		return errors.New("bad request")
	}
	w.create(nil)
	_, _ = w.try()
	before := w.get()
	_, _ = w.try()
	if w.r.Predicate().Update(ctrlevent.UpdateEvent{ObjectOld: before, ObjectNew: w.get()}) {
		t.Error("own write cancels the back-off")
	}
}

func TestADisconnectErrorIsReportedOnce(t *testing.T) {
	w := newWorld(t)
	w.o = append(w.o, managed.WithExternalConnectDisconnecter(managed.ExternalConnectDisconnecterFns{
		ConnectFn:    w.cloud.Connect,
		DisconnectFn: func(context.Context) error { return errors.New("already closed") },
	}))
	w.restart()
	w.create(nil)
	w.pass()
	w.pass()
	w.taken()
	w.pass()
	w.expect("", "Connect Observe", "")
}

type unownedClient struct{ managed.ExternalClient }

func (f unownedClient) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := f.ExternalClient.Observe(ctx, mg)
	o.Owner = managed.OwnerNone
	return o, err
}

// TestAnObjectWithoutTheAuthorsFinalizerIsLeftAlone verifies that an object whose author's finalizer was removed is
// left alone while others keep it: a resource with its name belongs to another owner by then.
func TestAnObjectWithoutTheAuthorsFinalizerIsLeftAlone(t *testing.T) {
	for name, restart := range map[string]bool{"same process": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.o = append(w.o, managed.WithFinalizer(resource.NewAPIFinalizer(w.API, "example.org/own")))
			w.restart()
			w.create(func(v *volume.Volume) { v.Finalizers = []string{"foregroundDeletion"} })
			w.pass()
			w.delete()
			w.pass()
			if got := w.get().Finalizers; len(got) != 1 || got[0] != "foregroundDeletion" || len(w.cloud.Disks()) != 0 {
				t.Fatalf("finalizers %v, disks %v: the object was not let go", got, w.cloud.Disks())
			}
			w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 1}) // a resource of another owner
			w.clock.SetTime(w.clock.Now().Add(time.Hour))
			if restart {
				w.restart()
			}
			w.pass()
			if n := len(w.cloud.Disks()); n != 1 {
				t.Error("what somebody else made was deleted")
			}
		})
	}
}
