package syncer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// TestIsManagedErrorIsRetried verifies that an event is retried if IsManaged fails; with
// LegacyOptions it is dropped.
func TestIsManagedErrorIsRetried(t *testing.T) {
	cases := map[string]struct {
		reason string
		o      syncer.Options
		want   []string
	}{
		"Kept":    {"The event is retried.", syncer.Options{}, []string{"ns/a"}},
		"Dropped": {"The event is dropped.", syncer.LegacyOptions(), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{o: tc.o})
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				core, err := syncer.NewCore(w.reg, w.syncer, withRecorder(tc.o, w.events), w.clock)
				if err != nil {
					t.Fatal(err)
				}
				q := newQueue(t)
				if err := core.StartRetries(ctx, q); err != nil {
					t.Fatal(err)
				}
				w.syncer.setManagedErr(errors.New("the index cannot be read"))
				core.HandleHostEvent(imageOf("a"), false, q)
				<-time.After(5 * time.Second)
				if got := enqueued(q); got != nil {
					t.Errorf("%s\nenqueued before the mapping succeeds: %v", tc.reason, got)
				}
				w.syncer.setManagedErr(nil)
				<-time.After(2 * time.Minute)
				if diff := cmp.Diff(tc.want, enqueued(q)); diff != "" {
					t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
				}
				if n := core.FailedEvents(); n != 0 {
					t.Errorf("%d failed events remain", n)
				}
				stop()
				synctest.Wait()
			})
		})
	}
}

// TestFailedEventReplacedBeforeStart verifies that a failed event from before the start
// of the controller is replaced by a newer one that succeeds.
func TestFailedEventReplacedBeforeStart(t *testing.T) {
	w, q := newWorld(t, worldOptions{}), newQueue(t)
	w.syncer.setManagedErr(errors.New("the index cannot be read"))
	w.core.HandleHostEvent(imageOf("a"), false, q)
	if n := w.core.FailedEvents(); n != 1 {
		t.Errorf("%d failed events", n)
	}
	w.syncer.setManagedErr(nil)
	w.core.HandleHostEvent(imageOf("a"), false, q)
	if n := w.core.FailedEvents(); n != 0 {
		t.Errorf("%d failed events remain", n)
	}
}

// TestFailedEventOfDeletedObjectIsRetried verifies that a successful event of a new
// object does not replace the failed event of the former object with that name.
func TestFailedEventOfDeletedObjectIsRetried(t *testing.T) {
	w := newWorld(t, worldOptions{})
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		core, q := w.core, newQueue(t)
		if err := core.StartRetries(ctx, q); err != nil {
			t.Fatal(err)
		}
		w.syncer.setManagedErr(errors.New("the index cannot be read"))
		core.HandleHostEvent(imageOf("a"), true, q)
		w.syncer.setManagedErr(nil)
		successor := imageOf("a", unowned)
		successor.UID = "another"
		core.HandleHostEvent(successor, false, q)
		<-time.After(2 * time.Minute)
		if diff := cmp.Diff([]string{"ns/a"}, enqueued(q)); diff != "" {
			t.Errorf("the virtual object is not enqueued: -want, +got:\n%s", diff)
		}
		if n := core.FailedEvents(); n != 0 {
			t.Errorf("%d failed events remain", n)
		}
		stop()
		synctest.Wait()
	})
}

func withRecorder(o syncer.Options, r *recordedEvents) syncer.Options {
	o.Recorder = r
	return o
}

// TestHostEventsEnqueueVirtualName verifies which host objects are mapped to a virtual
// name.
func TestHostEventsEnqueueVirtualName(t *testing.T) {
	cases := map[string]struct {
		reason string
		obj    *corev1.ConfigMap
		want   []string
	}{
		"Image":   {"An image is mapped to its virtual object.", imageOf("a"), []string{"ns/a"}},
		"Foreign": {"A foreign object is not mapped.", imageOf("a", unowned), nil},
		"Unknown": {
			"An annotation without a name is not mapped if no virtual object matches.",
			imageOf("a", annotated(translator.NameAnnotation, "")), nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, q := newWorld(t, worldOptions{}), newQueue(t)
			for _, gone := range []bool{false, true} {
				w.core.HandleHostEvent(tc.obj, gone, q)
				if diff := cmp.Diff(tc.want, enqueued(q)); diff != "" {
					t.Errorf("%s\ngone %t: -want, +got:\n%s", tc.reason, gone, diff)
				}
			}
		})
	}
}

// TestWaiterIsEnqueuedWhenNameIsFree verifies that a virtual object with a conflict is
// enqueued when its host name may be free.
func TestWaiterIsEnqueuedWhenNameIsFree(t *testing.T) {
	foreign := imageOf("a", unowned)
	w := newWorld(t, worldOptions{
		o: syncer.Options{OnConflict: syncer.ConflictIgnore}, v: []runtime.Object{virtualMap("a")},
		p: []runtime.Object{foreign},
	})
	q := newQueue(t)
	if got := w.mustPass(); got.RequeueAfter != syncer.DefaultSlowRecheck {
		t.Errorf("got %v", got)
	}
	w.Must(w.p.Delete(t.Context(), foreign))
	w.core.HandleHostEvent(foreign, true, q)
	if diff := cmp.Diff([]string{"ns/a"}, enqueued(q)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	w.mustPass()
	if w.host(foreign.Name) == nil {
		t.Error("no host object was created although the name is free")
	}
}

// TestDeleteObjectInSyncUpConfirms verifies that DeleteObject in SyncUp confirms the
// absence of the virtual object.
func TestDeleteObjectInSyncUpConfirms(t *testing.T) {
	up := func(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error) {
		return syncer.DeleteObject(ctx, pObj)
	}
	w := newWorld(t, worldOptions{p: []runtime.Object{imageOf("a")}, up: up})
	// The API server has an object that the cache does not contain yet.
	w.reg.VirtualManager = readerManager{w.reg.VirtualManager, &scriptedReader{Reader: w.API, uid: "first"}}
	core, err := syncer.NewCore(w.reg, upSyncer{w.syncer, up}, withRecorder(syncer.Options{}, w.events), w.clock)
	w.Must(err)
	w.core = core
	w.mustPass()
	if w.hostNames() == nil {
		t.Error("the image of a living object was deleted")
	}
}

// TestDeleteBeforeVirtual verifies that BeforeVirtual keeps the virtual object until its
// image is gone.
func TestDeleteBeforeVirtual(t *testing.T) {
	w := newWorld(t, worldOptions{
		o: syncer.Options{HostDeletion: syncer.BeforeVirtual}, v: []runtime.Object{virtualMap("a")},
	})
	name := translate.PhysicalName("a", "ns")
	w.mustPass()
	if m := w.read(w.API, "ns", "a"); len(m.Finalizers) != 1 || w.host(name) == nil {
		t.Fatalf("no finalizer before the image is created: %v", m.Finalizers)
	}
	w.Delete(virtualMap("a"))
	w.core.HandleHostEvent(w.host(name), false, newQueue(t))
	w.core.HandleVirtualEvent(w.read(w.API, "ns", "a"), false)
	w.setClusterUID("second")
	if _, err := w.pass("a"); !errors.Is(err, syncer.ErrVirtualClusterReplaced) || w.host(name) == nil {
		t.Fatalf("deleted although another cluster answers: %v", err)
	}
	w.setClusterUID("first")
	w.mustPass()
	if w.host(name) != nil || w.read(w.API, "ns", "a") == nil {
		t.Fatal("the host object is not deleted first")
	}
	w.mustPass()
	if w.read(w.API, "ns", "a") != nil {
		t.Error("the virtual object keeps its finalizer without an image")
	}
}

// TestImageOfOtherClusterWithSameName verifies that a host object with the UID of another
// virtual cluster is neither deleted nor changed.
func TestImageOfOtherClusterWithSameName(t *testing.T) {
	elsewhere := annotated(translator.ClusterAnnotation, "other")
	former := annotated(translator.UIDAnnotation, "former")
	w := newWorld(t, worldOptions{
		cluster: "first", p: []runtime.Object{imageOf("a", elsewhere), imageOf("b", elsewhere, former)},
		v: []runtime.Object{virtualMap("b")},
	})
	w.mustPass()
	if _, err := w.pass("b"); !errors.Is(err, syncer.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if len(w.hostNames()) != 2 || len(w.syncer.calls) != 0 {
		t.Errorf("left: %v, calls: %v", w.hostNames(), w.syncer.calls)
	}
}

// TestTrackerForgetsDeletedObject verifies that no entry remains for a deleted object.
func TestTrackerForgetsDeletedObject(t *testing.T) {
	w, q := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}}), newQueue(t)
	name := translate.PhysicalName("a", "ns")
	w.mustPass()
	image := w.host(name)
	w.core.HandleHostEvent(image, false, q)
	if w.core.TrackedEntries() == 0 {
		t.Error("the tracker has no entry")
	}
	if err := w.API.Delete(t.Context(), virtualMap("a")); err != nil {
		t.Fatal(err)
	}
	w.mustPass()
	w.core.HandleHostEvent(image, true, q)
	w.mustPass()
	if n := w.core.TrackedEntries(); n != 0 {
		t.Errorf("%d entries remain for a deleted object", n)
	}
}

// TestTrackerForgetsDeletedWaiter verifies that no entry remains for a deleted object
// that waited for a name.
func TestTrackerForgetsDeletedWaiter(t *testing.T) {
	w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", unowned)}})
	if _, err := w.pass("a"); !errors.Is(err, syncer.ErrConflict) || w.core.TrackedEntries() != 1 {
		t.Fatalf("the object does not wait: %v", err)
	}
	w.Delete(virtualMap("a"))
	w.mustPass()
	if n := w.core.TrackedEntries(); n != 0 {
		t.Errorf("%d entries remain for a deleted object", n)
	}
}

// A minimalSyncer is a typed syncer without optional interfaces.
type minimalSyncer struct{ translator.NameTranslator }

func (minimalSyncer) Name() string { return "bare" }

func (minimalSyncer) SyncDown(*synccontext.SyncContext, *corev1.ConfigMap) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (minimalSyncer) Sync(_ *synccontext.SyncContext, _, _ *corev1.ConfigMap) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

// A fullSyncer is a typed syncer with all optional interfaces.
type fullSyncer struct{ minimalSyncer }

func (fullSyncer) SyncUp(*synccontext.SyncContext, *corev1.ConfigMap) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (fullSyncer) ReconcileStart(*synccontext.SyncContext, ctrl.Request) (bool, error) {
	return false, nil
}
func (fullSyncer) ReconcileEnd()                                      {}
func (fullSyncer) Init(*synccontext.RegisterContext) error            { return nil }
func (fullSyncer) RegisterIndices(*synccontext.RegisterContext) error { return nil }
func (fullSyncer) Register(*synccontext.RegisterContext) error        { return nil }
func (fullSyncer) SyncerOptions() syncer.Options                      { return syncer.Options{} }

func (fullSyncer) ModifyController(_ *synccontext.RegisterContext, b *builder.Builder) (*builder.Builder, error) {
	return b, nil
}

// TestFromTypedOptionalInterfaces verifies that As finds exactly the optional interfaces
// that the typed syncer implements.
func TestFromTypedOptionalInterfaces(t *testing.T) {
	for want, s := range map[bool]syncer.Syncer{
		false: syncer.FromTyped(&corev1.ConfigMap{}, minimalSyncer{}),
		true:  syncer.FromTyped(&corev1.ConfigMap{}, fullSyncer{}),
	} {
		for what, got := range syncer.Capabilities(s) {
			if got != want {
				t.Errorf("%s: got %t, want %t", what, got, want)
			}
		}
		if _, err := s.SyncDown(nil, &corev1.Secret{}); err == nil {
			t.Error("an object of another type is accepted")
		}
	}
}

// TestUnknownOptions verifies that an unknown value is an error that names the option.
func TestUnknownOptions(t *testing.T) {
	w := newWorld(t, worldOptions{})
	for what, o := range map[string]syncer.Options{
		"OnConflict": {OnConflict: "x"}, "UIDPolicy": {UIDPolicy: "x"},
		"HostDeletion": {HostDeletion: "x"}, "ConfirmAbsence": {ConfirmAbsence: "x"},
	} {
		if _, err := syncer.NewCore(w.reg, w.syncer, o, w.clock); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got error %v", what, err)
		}
	}
}
