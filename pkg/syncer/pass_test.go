package syncer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// A splitManager has different clients for the cache and the API server.
type splitManager struct {
	ctrl.Manager

	cache, live client.Client
}

func (s splitManager) GetClient() client.Client    { return s.cache }
func (s splitManager) GetAPIReader() client.Reader { return s.live }

// An interceptingClient calls answer for reads of ConfigMaps. A nil answer, or one that
// returns false, leaves the read to the cluster.
type interceptingClient struct {
	client.Client

	reads  int
	answer func(read int, into *corev1.ConfigMap) (answered bool, err error)
}

func (a *interceptingClient) Get(
	ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption,
) error {
	if m, ok := obj.(*corev1.ConfigMap); ok {
		a.reads++
		if a.answer != nil {
			if answered, err := a.answer(a.reads, m); answered {
				return err
			}
		}
	}
	return a.Client.Get(ctx, key, obj, opts...)
}

// Apply sets the UID of the created object, as API servers do.
func (a *interceptingClient) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption,
) error {
	if err := a.Client.Apply(ctx, obj, opts...); err != nil {
		return err
	}
	applied, made := obj.(client.Object), &corev1.ConfigMap{}
	if err := a.Client.Get(ctx, client.ObjectKeyFromObject(applied), made); err != nil {
		return err
	}
	made.UID = "made"
	err := a.Client.Update(ctx, made)
	applied.SetUID(made.UID)
	applied.SetResourceVersion(made.ResourceVersion)
	return err
}

// imageNotFound answers every read of the image with a NotFound error.
func imageNotFound(_ int, _ *corev1.ConfigMap) (bool, error) {
	return true, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, translate.PhysicalName("a", home))
}

// TestSyncDownAlreadyExists verifies that, if the host name is taken although the cache
// does not contain it, a live read decides between a conflict and a requeue. Other errors
// of SyncDown are returned.
func TestSyncDownAlreadyExists(t *testing.T) {
	name := translate.PhysicalName("a", home)
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, name)
	changed := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, name, nil)
	later := ctrl.Result{RequeueAfter: syncer.DefaultSlowRecheck}
	ignore, legacy := syncer.Options{OnConflict: syncer.ConflictIgnore}, syncer.LegacyOptions()
	cases := map[string]struct {
		reason  string
		err     error // of SyncDown
		o       syncer.Options
		there   runtime.Object // on the host
		unread  error          // what its API server answers instead
		managed error          // of IsManaged
		reads   int            // of the API server
		result  ctrl.Result
		want    error
		event   string
	}{
		"Stranger": {
			reason: "The conflict is reported.", err: exists, there: imageOf("a", unowned), reads: 1, want: syncer.ErrConflict,
			event: "Warning Conflict a: test/" + name +
				": conflict: cannot sync virtual object as unmanaged physical object exists with desired name",
		},
		"StrangerChanged": {
			reason: "A conflict error is handled in the same way.", err: changed, there: imageOf("a", unowned), reads: 1,
			want: syncer.ErrConflict, event: "Warning Conflict a: ",
		},
		"StrangerIgnored": {
			reason: "With ConflictIgnore no event is emitted.", err: exists, o: ignore, there: imageOf("a", unowned), reads: 1,
			result: later,
		},
		"Ours": {
			reason: "The own image is not in the cache yet.", err: exists, there: imageOf("a"), reads: 1, result: requeue,
		},
		"OursIgnored": {
			reason: "A stale read is not a conflict to ignore.", err: exists, o: ignore, there: imageOf("a"), reads: 1,
			result: requeue,
		},
		"Gone": {
			reason: "If it is gone again, the error is returned.", err: exists, reads: 1, want: exists,
			event: "Warning SyncError a: ",
		},
		"GoneIsManagedError": {
			reason: "The ownership of a deleted object does not matter.", err: exists, managed: errBoom, reads: 1, want: exists,
			event: "Warning SyncError a: ",
		},
		"Unread": {
			reason: "If the live read fails, the error of SyncDown is returned.", err: exists, there: imageOf("a", unowned),
			unread: errBoom, reads: 1, want: exists, event: "Warning SyncError a: ",
		},
		"IsManagedError": {
			reason: "The ownership cannot be determined.", err: exists, there: imageOf("a"), managed: errBoom, reads: 1,
			want: errBoom, event: "Warning SyncError a: Error syncing to physical cluster: boom",
		},
		"OtherError": {
			reason: "Any other error causes no live read.", err: errBoom, there: imageOf("a", unowned), want: errBoom,
			event: "Warning SyncError a: Error syncing to physical cluster: boom",
		},
		"Legacy": {
			reason: "With LegacyOptions the error is returned.", err: exists, o: legacy, there: imageOf("a", unowned),
			want: exists, event: "Warning SyncError a: ",
		},
	}
	for what, tc := range cases {
		t.Run(what, func(t *testing.T) {
			s := worldOptions{v: []runtime.Object{virtualMap("a")}}
			if tc.there != nil {
				s.p = []runtime.Object{tc.there}
			}
			w := newWorld(t, s)
			live := &interceptingClient{Client: w.p}
			if tc.unread != nil {
				live.answer = func(int, *corev1.ConfigMap) (bool, error) { return true, tc.unread }
			}
			w.reg.PhysicalManager = splitManager{
				w.reg.PhysicalManager, &interceptingClient{Client: w.p, answer: imageNotFound}, live,
			}
			w.newCore(w.syncer, tc.o)
			w.syncer.syncErr = tc.err
			w.syncer.setManagedErr(tc.managed)
			got, err := w.pass("a")
			if got != tc.result || (err == nil) != (tc.want == nil) || tc.want != nil && !sameError(err, tc.want) {
				t.Errorf("%s\ngot %v, %v, want %v, %v", tc.reason, got, err, tc.result, tc.want)
			}
			if said := strings.Join(w.events.all(), "\n"); !strings.HasPrefix(said, tc.event) ||
				(said == "") != (tc.event == "") || live.reads != tc.reads {
				t.Errorf("%s\nevents: %q, want %q; asked %d times, want %d", tc.reason, said, tc.event, live.reads, tc.reads)
			}
		})
	}
}

// sameError compares errors by Is or by their API status reason.
func sameError(got, want error) bool {
	return errors.Is(got, want) || apierrors.ReasonForError(want) != metav1.StatusReasonUnknown &&
		apierrors.ReasonForError(got) == apierrors.ReasonForError(want)
}

// newCore replaces the core by one for the current managers and the given syncer.
func (w *world) newCore(s syncer.Syncer, o syncer.Options) {
	w.Helper()
	core, err := syncer.NewCore(w.reg, s, withRecorder(o, w.events), w.clock)
	w.Must(err)
	w.core = core
}

// TestConflictRechecksNameAfterWait verifies that a pass with a conflict reads the host
// object again after it has registered as a waiter, so that a name that becomes free in
// between is not missed.
func TestConflictRechecksNameAfterWait(t *testing.T) {
	foreign := imageOf("a", unowned)
	cases := map[string]struct {
		reason   string
		reread   func(w *world, wake func()) error // at the second read of the host name
		o        syncer.Options
		result   ctrl.Result
		want     error
		enqueued []string
	}{
		"Freed": {
			reason: "The name becomes free and the pass is requeued.", result: requeue, enqueued: []string{"ns/a"},
			reread: func(w *world, wake func()) error { w.Must(w.p.Delete(w.Context(), foreign)); wake(); return nil },
		},
		"Changed": {
			reason: "The object changes and may be owned now.", result: requeue,
			reread: func(w *world, _ func()) error {
				w.Must(w.p.Patch(
					w.Context(), foreign.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"data":{"new":"1"}}`))))
				return nil
			},
		},
		"Unread": {reason: "The second read fails.", reread: func(*world, func()) error { return errBoom }, want: errBoom},
		"Taken": {
			reason: "The name is still taken.", reread: func(*world, func()) error { return nil }, want: syncer.ErrConflict,
		},
		"Unheard": {
			reason: "The name is still taken and no event is emitted.", reread: func(*world, func()) error { return nil },
			o: syncer.Options{
				OnConflict: syncer.ConflictIgnore, SlowRecheck: time.Hour,
			}, result: ctrl.Result{RequeueAfter: time.Hour},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, q := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{foreign}}), newQueue(t)
			cache := &interceptingClient{Client: w.p}
			cache.answer = func(read int, _ *corev1.ConfigMap) (bool, error) {
				if read == 2 {
					if n := len(w.events.all()); (n == 0) != (tc.o.OnConflict == syncer.ConflictIgnore) {
						t.Errorf("%s\n%d events before the second read", tc.reason, n)
					}
					err := tc.reread(w, func() { w.core.HandleHostEvent(foreign, true, q) })
					return err != nil, err
				}
				return false, nil
			}
			w.reg.PhysicalManager = splitManager{w.reg.PhysicalManager, cache, w.p}
			w.newCore(w.syncer, tc.o)
			if got, err := w.pass("a"); got != tc.result || (err == nil) != (tc.want == nil) || tc.want != nil &&
				!errors.Is(err, tc.want) {
				t.Errorf("%s\ngot %v, %v, want %v, %v", tc.reason, got, err, tc.result, tc.want)
			}
			if diff := cmp.Diff(tc.enqueued, enqueued(q)); diff != "" {
				t.Errorf("%s\nenqueued: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPassAwaitsStaleCache verifies that after a write to either cluster no pass acts
// until the cache of that cluster contains the write, or for ten seconds.
func TestPassAwaitsStaleCache(t *testing.T) {
	w := newWorld(t, worldOptions{
		o: syncer.Options{HostDeletion: syncer.BeforeVirtual}, v: []runtime.Object{virtualMap("a")},
	})
	name := translate.PhysicalName("a", home)
	host, tenant := &interceptingClient{Client: w.p}, &interceptingClient{Client: w.API}
	w.reg.PhysicalManager = clientManager{w.reg.PhysicalManager, host}
	w.reg.VirtualManager = clientManager{w.reg.VirtualManager, tenant}
	w.newCore(w.syncer, syncer.Options{HostDeletion: syncer.BeforeVirtual})
	wait := ctrl.Result{RequeueAfter: 10 * time.Second}
	step := func(reason string, want ctrl.Result, calls ...string) {
		t.Helper()
		w.syncer.calls = nil
		if got := w.mustPass(); got != want {
			t.Errorf("%s: got %v, want %v", reason, got, want)
		}
		if diff := cmp.Diff(calls, w.syncer.calls); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", reason, diff)
		}
	}
	step("the image is created and the pass requeued", wait, "SyncDown")
	if m := w.read(w.API, home, "a"); !cmp.Equal(m.Finalizers, []string{"syncer.moorage.dev/configmaps"}) {
		t.Errorf("finalizers: %v", m.Finalizers)
	}
	host.answer = imageNotFound
	step("the cache of the host does not contain it", wait)
	host.answer = nil
	step("the cache contains it", ctrl.Result{}, "Sync")

	w.Delete(virtualMap("a"))
	before := w.read(w.API, home, "a")
	w.core.HandleVirtualEvent(before, false)
	step("the image is deleted first", wait)
	if w.host(name) != nil {
		t.Fatal("the image still exists")
	}
	step("then the object is deleted", wait)
	tenant.answer = func(_ int, into *corev1.ConfigMap) (bool, error) {
		before.DeepCopyInto(into)
		return true, nil
	}
	step("the virtual cache still contains it", wait)
	w.clock.SetTime(w.clock.Now().Add(11 * time.Second))
	if result, err := w.pass("a"); err != nil || result != requeue {
		t.Errorf("the pass waits too long: %v, %v", result, err)
	}
}

// TestImageOwnership verifies ownership in cases that TestReconcileTable does not have:
// copied annotations, images of another cluster, and errors of IsManaged.
func TestImageOwnership(t *testing.T) {
	other, former := annotated(translator.ClusterAnnotation, "other"), annotated(translator.UIDAnnotation, "former")
	ofB := func(m *corev1.ConfigMap) {
		m.Annotations = map[string]string{
			translator.NameAnnotation: "b", translator.NamespaceAnnotation: home, translator.UIDAnnotation: "uid-of-b",
		}
	}
	unlabelled := func(m *corev1.ConfigMap) { m.Labels = nil }
	overwrite := syncer.Options{OnConflict: syncer.ConflictOverwrite}
	adopt := syncer.Options{OnConflict: syncer.ConflictAdopt}
	hostFirst := adopt
	hostFirst.HostDeletion = syncer.BeforeVirtual
	here, leaving := []runtime.Object{virtualMap("a")}, []runtime.Object{
		virtualMap("a", terminating, func(m *corev1.ConfigMap) {
			m.Finalizers = append(m.Finalizers, "syncer.moorage.dev/configmaps")
		}),
	}
	cases := map[string]struct {
		reason  string
		s       worldOptions
		managed error
		did     string
	}{
		"OverwrittenImage": {
			"The image of another object is not a former image of this one.",
			worldOptions{o: overwrite, v: here, p: []runtime.Object{imageOf("a", ofB)}}, nil, "Sync, patch",
		},
		"CopiedAnnotations": {
			"Annotations without the label are a copy, not a former image.",
			worldOptions{o: adopt, v: here, p: []runtime.Object{imageOf("a", former, unlabelled)}}, nil, "Sync, patch",
		},
		"OverwrittenGone": {
			"ConflictOverwrite does not allow to delete a foreign object.",
			worldOptions{o: overwrite, p: []runtime.Object{imageOf("a", unowned)}}, nil, "",
		},
		"IsManagedError": {
			"A pass fails if IsManaged fails.", worldOptions{v: here, p: []runtime.Object{imageOf("a")}}, errBoom,
			"error, event",
		},
		"IsManagedErrorUnowned": {
			"An error of IsManaged does not mean that the object is foreign.",
			worldOptions{p: []runtime.Object{imageOf("a", unowned)}}, errBoom, "error",
		},
		"OtherUnnamed": {
			"Without its own cluster UID, another cluster UID is ignored.",
			worldOptions{v: here, p: []runtime.Object{imageOf("a", other)}}, nil, "Sync, patch",
		},
		"UnnamedImage": {
			"An image without a cluster UID is accepted.",
			worldOptions{cluster: "first", v: here, p: []runtime.Object{imageOf("a")}}, nil, "Sync, patch",
		},
		"OtherGone": {
			"The same applies without the virtual object.", worldOptions{p: []runtime.Object{imageOf("a", other)}}, nil,
			"delete image-of-a at 999",
		},
		"UnnamedGone": {
			"An image without a cluster UID is owned by its other marks.",
			worldOptions{cluster: "first", p: []runtime.Object{imageOf("a")}}, nil, "delete image-of-a at 999",
		},
		"OtherSameUID": {
			"The UID of the object takes precedence over that of the cluster.",
			worldOptions{cluster: "first", v: here, p: []runtime.Object{imageOf("a", other)}}, nil, "Sync, patch",
		},
		"OtherAnotherUID": {
			"With another object UID it belongs to the other cluster.",
			worldOptions{cluster: "first", v: here, p: []runtime.Object{imageOf("a", other, former)}}, nil, "error, event",
		},
		"AdoptedElsewhere": {
			"The image of another cluster can be adopted and is not a former image.",
			worldOptions{cluster: "first", o: adopt, v: here, p: []runtime.Object{imageOf("a", other, former)}}, nil,
			"Sync, patch",
		},
		"OverwrittenThere": {
			"The same applies with ConflictOverwrite.",
			worldOptions{cluster: "first", o: overwrite, v: here, p: []runtime.Object{imageOf("a", other, former)}}, nil,
			"Sync, patch",
		},
		"LeftElsewhere": {
			"It is not deleted with an object that has not adopted it.",
			worldOptions{cluster: "first", o: hostFirst, v: leaving, p: []runtime.Object{imageOf("a", other, former)}}, nil, "",
		},
		"AlreadyGoing": {
			"An object that is being deleted is not deleted again.",
			worldOptions{p: []runtime.Object{imageOf("a", terminating)}}, nil, "",
		},
		"NoUID": {
			"Without a UID there is no precondition for the UID.",
			worldOptions{p: []runtime.Object{imageOf("a", func(m *corev1.ConfigMap) { m.UID = "" })}}, nil, "delete anything",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.s)
			w.syncer.setManagedErr(tc.managed)
			if got := w.describePass(tc.s.o); got != tc.did {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.did)
			}
		})
	}
}

// TestUpSyncerDoesNotSeeConflict verifies that SyncUp is not called for a foreign host
// object if the virtual object exists.
func TestUpSyncerDoesNotSeeConflict(t *testing.T) {
	w := newWorld(t, worldOptions{
		v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", unowned)}, upSyncer: true,
	})
	if _, err := w.pass("a"); !errors.Is(err, syncer.ErrConflict) || len(w.syncer.calls) != 0 {
		t.Errorf("got error %v, calls %v", err, w.syncer.calls)
	}
}

// TestConfirmCachedReadsNothing verifies that with ConfirmCached no live read is made,
// neither at the start nor for a deletion.
func TestConfirmCachedReadsNothing(t *testing.T) {
	up := func(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error) {
		return syncer.DeleteObject(ctx, pObj)
	}
	w := newWorld(t, worldOptions{p: []runtime.Object{imageOf("a")}})
	w.reg.VirtualManager = readerManager{w.reg.VirtualManager, nil} // a reader that panics
	w.newCore(upSyncer{w.syncer, up}, syncer.Options{ConfirmAbsence: syncer.ConfirmCached})
	if w.mustPass(); w.hostNames() != nil {
		t.Errorf("left: %v", w.hostNames())
	}
}

// A labelNameCreator is a labelNameSyncer that creates its images.
type labelNameCreator struct{ labelNameSyncer }

func (s labelNameCreator) SyncDown(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error) {
	return s.SyncDownCreate(ctx, vObj, s.TranslateMetadata(vObj))
}

// TestHostNameIsTrackedWithoutEvent verifies that an image is deleted although no event
// of the host was received and the virtual object is gone.
func TestHostNameIsTrackedWithoutEvent(t *testing.T) {
	v := virtualMap("a", func(m *corev1.ConfigMap) { m.Labels = map[string]string{"host": "somewhere"} })
	w := newWorld(t, worldOptions{v: []runtime.Object{v}})
	w.newCore(labelNameCreator{labelNameSyncer{w.syncer}}, syncer.Options{})
	w.mustPass()
	if w.host("somewhere") == nil {
		t.Fatal("no host object is created")
	}
	w.Delete(v)
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.mustPass()
	if w.host("somewhere") != nil {
		t.Error("the host object was not deleted")
	}
}
