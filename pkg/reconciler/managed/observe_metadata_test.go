package managed_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A filling client sets what the user left open, and finds a name.
type filling struct{ managed.ExternalClient }

func (f filling) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := f.ExternalClient.Observe(ctx, mg)
	if v, ok := mg.(*volume.Volume); ok && o.ResourceExists && v.Spec.Tier == "" {
		v.Spec.Tier = "standard"
		o.ResourceLateInitialized = true
	}

	return o, err
}

func TestWhatObserveFillsInIsStoredOnce(t *testing.T) {
	w := newWorld(t)
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return filling{c} })
	w.create(nil)
	w.pass()
	w.expect("patch, patch, patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")
	if v := w.get(); v.Spec.Tier != "standard" || v.Status.ID == "" {
		t.Errorf("spec %+v, status %+v", v.Spec, v.Status)
	}
	w.condition("Ready", "True/Available")
	w.pass()
	w.expect("", "Connect Observe", "")
}

func TestANameThatObserveFindsIsStored(t *testing.T) {
	w := newWorld(t)
	w.cloud.Put(volume.Disk{ID: "vol-5", SizeGiB: 1})
	w.cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Observe" {
			meta.SetExternalName(mg, "vol-5")
		}

		return nil
	}
	w.create(nil)
	w.pass()
	w.expect("patch, patch status", "Connect Observe", "")
	if got := meta.GetExternalName(w.get()); got != "vol-5" {
		t.Errorf("external name %q", got)
	}
}

func TestCountersAreWrittenNowAndThen(t *testing.T) {
	w := newWorld(t, managed.WithVolatileStatus("usedBytes"))
	w.create(nil)
	w.pass()
	w.taken()
	count := func(n int64) {
		d := w.cloud.Disks()[0]
		d.UsedBytes = n
		w.cloud.Put(d)
		w.clock.SetTime(w.clock.Now().Add(4 * 60e9))
		w.pass()
	}
	count(1)
	count(2)
	w.expect("", "Connect Observe Connect Observe", "")
	count(3)
	w.expect(status, "Connect Observe", "")
	if got := w.get().Status.UsedBytes; got != 3 {
		t.Errorf("used bytes %d", got)
	}
	w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	count(4)
	w.expect(status, "Connect Observe Update Observe", "Normal/UpdatedExternalResource")
	if got := w.get().Status.UsedBytes; got != 4 {
		t.Errorf("used bytes %d: not written along", got)
	}
}

func TestCountersAreNeverWrittenAloneIfTheIntervalIsZero(t *testing.T) {
	w := newWorld(t, managed.WithVolatileStatus("status.usedBytes"), managed.WithVolatileStatusInterval(0))
	w.create(nil)
	w.pass()
	d := w.cloud.Disks()[0]
	d.UsedBytes = 1
	w.cloud.Put(d)
	w.taken()
	w.clock.SetTime(w.clock.Now().Add(1000 * 60e9))
	w.pass()
	w.expect("", "Connect Observe", "")
}

func TestPredicate(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(before, after *volume.Volume)
		want   bool
	}{
		"Status": {"own status writes would reset every back-off",
			func(_, v *volume.Volume) { v.Status.UsedBytes = 1; v.ResourceVersion = "999" }, false},
		"OurMarks":     {"so would our own annotations", func(v, _ *volume.Volume) { v.Annotations = nil }, false},
		"OurFinalizer": {"and our finalizer", func(v, _ *volume.Volume) { v.Finalizers = nil }, false},
		"Generation":   {"the user changed the spec", func(_, v *volume.Volume) { v.Generation++ }, true},
		"Label":        {"or a label", func(_, v *volume.Volume) { v.Labels = map[string]string{"a": "b"} }, true},
		"Deletion": {"or deleted it", func(_, v *volume.Volume) {
			v.DeletionTimestamp = &metav1.Time{}
			now := metav1.Now()
			v.DeletionTimestamp = &now
		}, true},
		"Finalizer": {"another's finalizer went",
			func(v, _ *volume.Volume) { v.Finalizers = append(v.Finalizers, "x") }, true},
		"Annotation": {"an annotation for us",
			func(_, v *volume.Volume) { v.Annotations[meta.AnnotationKeyReconciliationPaused] = "true" }, true},
		"ForeignName": {"somebody else set the external name",
			func(_, v *volume.Volume) { meta.SetExternalName(v, "other") }, true},
		"MarkRemoved": {"somebody removed a mark",
			func(_, v *volume.Volume) { delete(v.Annotations, meta.AnnotationKeyExternalCreatePending) }, true},
		"Namesake": {"it is another object", func(_, v *volume.Volume) { v.UID = types.UID("uid-2") }, true},
	}
	for name, tc := range cases {
		w := newWorld(t)
		w.create(nil)
		w.pass()
		before, after := w.get(), w.get()
		tc.change(before, after)
		if got := w.r.Predicate().Update(ctrlevent.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
			t.Errorf("%s: %s: %t, want %t", name, tc.reason, got, tc.want)
		}
	}
	p, o := newWorld(t).r.Predicate(), &volume.Volume{}
	if p.Update(ctrlevent.UpdateEvent{}) || !p.Create(ctrlevent.CreateEvent{Object: o}) ||
		!p.Delete(ctrlevent.DeleteEvent{Object: o}) {
		t.Error("create and delete are for us, an event without objects is not")
	}
}

func copyOf(v *volume.Volume) *volume.Volume {
	return v.DeepCopyObject().(*volume.Volume) // a copy of a volume
}

func TestCriticalAnnotationUpdaterKeepsWhatUsersSet(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	mine := w.get()
	meta.AddAnnotations(mine, map[string]string{meta.AnnotationKeyReconciliationPaused: "false"})
	meta.SetExternalName(mine, "vol-1")
	w.change(func(v *volume.Volume) {
		meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
	})
	u := managed.NewRetryingCriticalAnnotationUpdater(w.API)
	w.Must(u.UpdateCriticalAnnotations(t.Context(), mine))
	if v := w.get(); !meta.IsPaused(v) || meta.GetExternalName(v) != "vol-1" {
		t.Errorf("annotations %v", v.Annotations)
	}
	w.change(func(v *volume.Volume) { v.Finalizers = nil })
	w.delete()
	w.taken()
	if err := u.UpdateCriticalAnnotations(t.Context(), mine); err == nil ||
		!strings.Contains(err.Error(), "cannot update critical annotations") {
		t.Errorf("error %v for an object that is gone", err)
	}
	if requests, _, _ := w.taken(); strings.Contains(requests, ", ") {
		t.Errorf("an object that is gone was written more than once: %s", requests)
	}
}

func TestAnUnknownKindIsRefused(t *testing.T) {
	m := &fake.Manager{Scheme: runtime.NewScheme()}
	if err := managed.Setup(m, volume.Kind, controller.Options{}); err == nil {
		t.Error("no error for a kind that is not registered")
	}
	_ = volume.AddToScheme(m.Scheme)
	list := resource.ManagedKind(volume.GroupVersion.WithKind("VolumeList"))
	if err := managed.Setup(m, list, controller.Options{}); err == nil ||
		!strings.Contains(err.Error(), "no managed resource") {
		t.Errorf("error %v for a type that is no managed resource", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("NewReconciler accepts a kind that is not registered")
		}
	}()
	managed.NewReconciler(m, resource.ManagedKind(schema.GroupVersionKind{Kind: "Nothing"}))
}

func TestAReadThatFailsIsAnError(t *testing.T) {
	m := &fake.Manager{Client: unreadable{}, Scheme: runtime.NewScheme()}
	_ = volume.AddToScheme(m.Scheme)
	_, err := managed.NewReconciler(m, volume.Kind).Reconcile(t.Context(), request())
	if err == nil || err.Error() != "cannot get managed resource: boom" {
		t.Errorf("error %v", err)
	}
}

type unreadable struct{ client.Client }

func (unreadable) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("boom")
}
