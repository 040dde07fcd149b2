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

// TestManagedErrorIsRetried: an event whose name cannot be told is kept until it can
// be. It used to be dropped, and still is with the old options.
func TestManagedErrorIsRetried(t *testing.T) {
	cases := map[string]struct {
		reason string
		o      syncer.Options
		want   []string
	}{
		"Kept":    {"It is tried again.", syncer.Options{}, []string{"ns/a"}},
		"Dropped": {"It used to be dropped.", syncer.LegacyOptions(), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{o: tc.o})
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				core, err := syncer.NewCore(w.reg, w.syncer, withRecorder(tc.o, w.events), w.clock)
				if err != nil {
					t.Fatal(err)
				}
				q := newQueue(t)
				if err := core.StartWatch(ctx, q); err != nil {
					t.Fatal(err)
				}
				w.syncer.setManagedErr(errors.New("the index cannot be read"))
				core.HostSeen(imageOf("a"), false, q)
				<-time.After(5 * time.Second)
				if got := enqueued(q); got != nil {
					t.Errorf("%s\nbefore it can be told: %v", tc.reason, got)
				}
				w.syncer.setManagedErr(nil)
				<-time.After(2 * time.Minute)
				if diff := cmp.Diff(tc.want, enqueued(q)); diff != "" {
					t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
				}
				if n := core.Kept(); n != 0 {
					t.Errorf("%d events are still kept", n)
				}
				stop()
				synctest.Wait()
			})
		})
	}
}

// TestKeptEventBeforeTheStart: an event that cannot be told before the controller is started is dropped by a newer one that can.
func TestKeptEventBeforeTheStart(t *testing.T) {
	w, q := newWorld(t, setting{}), newQueue(t)
	w.syncer.setManagedErr(errors.New("the index cannot be read"))
	w.core.HostSeen(imageOf("a"), false, q)
	if n := w.core.Kept(); n != 1 {
		t.Errorf("%d events are kept", n)
	}
	w.syncer.setManagedErr(nil)
	w.core.HostSeen(imageOf("a"), false, q)
	if n := w.core.Kept(); n != 0 {
		t.Errorf("%d events are still kept", n)
	}
}

// TestKeptEventOfAFormerObject: what becomes of a name says nothing of the object that
// had it before.
func TestKeptEventOfAFormerObject(t *testing.T) {
	w := newWorld(t, setting{})
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		core, q := w.core, newQueue(t)
		if err := core.StartWatch(ctx, q); err != nil {
			t.Fatal(err)
		}
		w.syncer.setManagedErr(errors.New("the index cannot be read"))
		core.HostSeen(imageOf("a"), true, q)
		w.syncer.setManagedErr(nil)
		successor := imageOf("a", stranger)
		successor.UID = "another"
		core.HostSeen(successor, false, q)
		<-time.After(2 * time.Minute)
		if diff := cmp.Diff([]string{"ns/a"}, enqueued(q)); diff != "" {
			t.Errorf("the virtual object is not told: -want, +got:\n%s", diff)
		}
		if n := core.Kept(); n != 0 {
			t.Errorf("%d events are still kept", n)
		}
		stop()
		synctest.Wait()
	})
}

func withRecorder(o syncer.Options, r *heard) syncer.Options {
	o.Recorder = r
	return o
}

func TestHostEvents(t *testing.T) {
	cases := map[string]struct {
		reason string
		obj    *corev1.ConfigMap
		want   []string
	}{
		"Image":   {"An image leads to its virtual object.", imageOf("a"), []string{"ns/a"}},
		"Foreign": {"What is foreign leads nowhere.", imageOf("a", stranger), nil},
		"Unknown": {
			"A mark without a name leads nowhere, if no virtual object has that name.",
			imageOf("a", annotated(translator.NameAnnotation, "")), nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, q := newWorld(t, setting{}), newQueue(t)
			for _, gone := range []bool{false, true} {
				w.core.HostSeen(tc.obj, gone, q)
				if diff := cmp.Diff(tc.want, enqueued(q)); diff != "" {
					t.Errorf("%s\ngone %t: -want, +got:\n%s", tc.reason, gone, diff)
				}
			}
		})
	}
}

// TestWaitForAName: whoever was refused a name is woken when it may be free.
func TestWaitForAName(t *testing.T) {
	foreign := imageOf("a", stranger)
	w := newWorld(t, setting{o: syncer.Options{OnConflict: syncer.ConflictIgnore}, v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{foreign}})
	q := newQueue(t)
	if got := w.mustPass(); got.RequeueAfter != syncer.DefaultSlowRecheck {
		t.Errorf("got %v", got)
	}
	w.Must(w.p.Delete(t.Context(), foreign))
	w.core.HostSeen(foreign, true, q)
	if diff := cmp.Diff([]string{"ns/a"}, enqueued(q)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	w.mustPass()
	if w.host(foreign.Name) == nil {
		t.Error("the name is free and nothing was made")
	}
}

// TestUpSyncerDeletes: DeleteObject in a SyncUp asks as well.
func TestUpSyncerDeletes(t *testing.T) {
	up := func(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error) {
		return syncer.DeleteObject(ctx, pObj)
	}
	w := newWorld(t, setting{p: []runtime.Object{imageOf("a")}, up: up})
	// What the cache does not show yet, the API server has.
	w.reg.VirtualManager = managerOf{w.reg.VirtualManager, &answers{Reader: w.API, pinned: "first"}}
	core, err := syncer.NewCore(w.reg, lookingUp{w.syncer, up}, withRecorder(syncer.Options{}, w.events), w.clock)
	w.Must(err)
	w.core = core
	w.mustPass()
	if w.hostNames() == nil {
		t.Error("the image of a living object was deleted")
	}
}

// TestHostFirst: with BeforeVirtual the virtual object stays until its image is gone.
func TestHostFirst(t *testing.T) {
	w := newWorld(t, setting{o: syncer.Options{HostDeletion: syncer.BeforeVirtual}, v: []runtime.Object{virtualMap("a")}})
	name := translate.PhysicalName("a", "ns")
	w.mustPass()
	if m := w.read(w.API, "ns", "a"); len(m.Finalizers) != 1 || w.host(name) == nil {
		t.Fatalf("it is not held before its image is made: %v", m.Finalizers)
	}
	w.Delete(virtualMap("a"))
	w.core.HostSeen(w.host(name), false, newQueue(t))
	w.core.VirtualSeen(w.read(w.API, "ns", "a"), false)
	w.become("second")
	if _, err := w.pass("a"); !errors.Is(err, syncer.ErrVirtualClusterReplaced) || w.host(name) == nil {
		t.Fatalf("deleted on the word of another cluster: %v", err)
	}
	w.become("first")
	w.mustPass()
	if w.host(name) != nil || w.read(w.API, "ns", "a") == nil {
		t.Fatal("the host object does not go first")
	}
	w.mustPass()
	if w.read(w.API, "ns", "a") != nil {
		t.Error("the virtual object is kept without an image")
	}
}

// TestAnotherClusterOfTheSameName: what bears the UID of another virtual cluster is
// neither deleted nor changed.
func TestAnotherClusterOfTheSameName(t *testing.T) {
	elsewhere := annotated(translator.ClusterAnnotation, "other")
	former := annotated(translator.UIDAnnotation, "former")
	w := newWorld(t, setting{cluster: "first", p: []runtime.Object{imageOf("a", elsewhere), imageOf("b", elsewhere, former)}, v: []runtime.Object{virtualMap("b")}})
	w.mustPass()
	if _, err := w.pass("b"); !errors.Is(err, syncer.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if len(w.hostNames()) != 2 || len(w.syncer.calls) != 0 {
		t.Errorf("left: %v, calls: %v", w.hostNames(), w.syncer.calls)
	}
}

// TestMemoryForgets: nothing stays of what is gone.
func TestMemoryForgets(t *testing.T) {
	w, q := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}}), newQueue(t)
	name := translate.PhysicalName("a", "ns")
	w.mustPass()
	image := w.host(name)
	w.core.HostSeen(image, false, q)
	if w.core.Remembers() == 0 {
		t.Error("it does not know where the image is")
	}
	if err := w.API.Delete(t.Context(), virtualMap("a")); err != nil {
		t.Fatal(err)
	}
	w.mustPass()
	w.core.HostSeen(image, true, q)
	w.mustPass()
	if n := w.core.Remembers(); n != 0 {
		t.Errorf("it remembers %d things of an object that is gone", n)
	}
}

// TestMemoryForgetsWhoWaits: whoever was refused and is gone waits no more.
func TestMemoryForgetsWhoWaits(t *testing.T) {
	w := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", stranger)}})
	if _, err := w.pass("a"); !errors.Is(err, syncer.ErrConflict) || w.core.Remembers() != 1 {
		t.Fatalf("it does not wait: %v", err)
	}
	w.Delete(virtualMap("a"))
	w.mustPass()
	if n := w.core.Remembers(); n != 0 {
		t.Errorf("it remembers %d things of an object that is gone", n)
	}
}

// bare is a typed syncer without anything optional; full has all of it.
type bare struct{ translator.NameTranslator }

func (bare) Name() string { return "bare" }

func (bare) SyncDown(*synccontext.SyncContext, *corev1.ConfigMap) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (bare) Sync(_ *synccontext.SyncContext, _, _ *corev1.ConfigMap) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

type full struct{ bare }

func (full) SyncUp(*synccontext.SyncContext, *corev1.ConfigMap) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (full) ReconcileStart(*synccontext.SyncContext, ctrl.Request) (bool, error) { return false, nil }
func (full) ReconcileEnd()                                                       {}
func (full) Init(*synccontext.RegisterContext) error                             { return nil }
func (full) RegisterIndices(*synccontext.RegisterContext) error                  { return nil }
func (full) Register(*synccontext.RegisterContext) error                         { return nil }
func (full) SyncerOptions() syncer.Options                                       { return syncer.Options{} }

func (full) ModifyController(_ *synccontext.RegisterContext, b *builder.Builder) (*builder.Builder, error) {
	return b, nil
}

// TestFromTyped: what is optional is found if it is there, and only then.
func TestFromTyped(t *testing.T) {
	for want, s := range map[bool]syncer.Syncer{
		false: syncer.FromTyped(&corev1.ConfigMap{}, bare{}),
		true:  syncer.FromTyped(&corev1.ConfigMap{}, full{}),
	} {
		for what, got := range syncer.Capabilities(s) {
			if got != want {
				t.Errorf("%s: got %t, want %t", what, got, want)
			}
		}
		if _, err := s.SyncDown(nil, &corev1.Secret{}); err == nil {
			t.Error("an object of another type is synced")
		}
	}
}

func TestUnknownOptions(t *testing.T) {
	w := newWorld(t, setting{})
	for what, o := range map[string]syncer.Options{
		"OnConflict": {OnConflict: "x"}, "UIDPolicy": {UIDPolicy: "x"}, "HostDeletion": {HostDeletion: "x"}, "ConfirmAbsence": {ConfirmAbsence: "x"},
	} {
		if _, err := syncer.NewCore(w.reg, w.syncer, o, w.clock); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got error %v", what, err)
		}
	}
}
