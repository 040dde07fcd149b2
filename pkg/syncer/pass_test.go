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

// A split is a host whose cache and API server answer differently.
type split struct {
	ctrl.Manager

	cache, live client.Client
}

func (s split) GetClient() client.Client    { return s.cache }
func (s split) GetAPIReader() client.Reader { return s.live }

// answering is a client whose reads of ConfigMaps a test answers, as long as it does: nil leaves them to the cluster.
type answering struct {
	client.Client

	reads  int
	answer func(read int, into *corev1.ConfigMap) (answered bool, err error)
}

func (a *answering) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
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

// Apply gives what is made a UID, as API servers do.
func (a *answering) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
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

func absent(_ int, _ *corev1.ConfigMap) (bool, error) {
	return true, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, translate.PhysicalName("a", home))
}

// TestNameIsTakenAfterAll: that a name is taken may be news to the cache of the host. Its API server says by whom, and the pass ends as if it had been
// known; what else a syncer fails with is its own.
func TestNameIsTakenAfterAll(t *testing.T) {
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
		"Stranger":        {reason: "The user is told whose it is.", err: exists, there: imageOf("a", stranger), reads: 1, want: syncer.ErrConflict, event: "Warning Conflict a: test/" + name + ": conflict: cannot sync virtual object as unmanaged physical object exists with desired name"},
		"StrangerChanged": {reason: "A conflict says the same.", err: changed, there: imageOf("a", stranger), reads: 1, want: syncer.ErrConflict, event: "Warning Conflict a: "},
		"StrangerIgnored": {reason: "The user can be spared.", err: exists, o: ignore, there: imageOf("a", stranger), reads: 1, result: later},
		"Ours":            {reason: "It is our own image, which the cache will show.", err: exists, there: imageOf("a"), reads: 1, result: again},
		"OursIgnored":     {reason: "That is no conflict to be ignored.", err: exists, o: ignore, there: imageOf("a"), reads: 1, result: again},
		"Gone":            {reason: "It is gone again, and the error stands.", err: exists, reads: 1, want: exists, event: "Warning SyncError a: "},
		"GoneUntold":      {reason: "Whose it was does not matter then.", err: exists, managed: errBoom, reads: 1, want: exists, event: "Warning SyncError a: "},
		"Unread":          {reason: "Nobody says whose it is, and the error stands.", err: exists, there: imageOf("a", stranger), unread: errBoom, reads: 1, want: exists, event: "Warning SyncError a: "},
		"Untold":          {reason: "It cannot be told whose it is.", err: exists, there: imageOf("a"), managed: errBoom, reads: 1, want: errBoom, event: "Warning SyncError a: Error syncing to physical cluster: boom"},
		"OtherError":      {reason: "An error of another sort asks nobody.", err: errBoom, there: imageOf("a", stranger), want: errBoom, event: "Warning SyncError a: Error syncing to physical cluster: boom"},
		"Legacy":          {reason: "It used to be an error like any other.", err: exists, o: legacy, there: imageOf("a", stranger), want: exists, event: "Warning SyncError a: "},
	}
	for what, tc := range cases {
		t.Run(what, func(t *testing.T) {
			s := setting{v: []runtime.Object{virtualMap("a")}}
			if tc.there != nil {
				s.p = []runtime.Object{tc.there}
			}
			w := newWorld(t, s)
			live := &answering{Client: w.p}
			if tc.unread != nil {
				live.answer = func(int, *corev1.ConfigMap) (bool, error) { return true, tc.unread }
			}
			w.reg.PhysicalManager = split{w.reg.PhysicalManager, &answering{Client: w.p, answer: absent}, live}
			w.remake(w.syncer, tc.o)
			w.syncer.syncErr = tc.err
			w.syncer.setManagedErr(tc.managed)
			got, err := w.pass("a")
			if got != tc.result || (err == nil) != (tc.want == nil) || tc.want != nil && !sameError(err, tc.want) {
				t.Errorf("%s\ngot %v, %v, want %v, %v", tc.reason, got, err, tc.result, tc.want)
			}
			if said := strings.Join(w.events.all(), "\n"); !strings.HasPrefix(said, tc.event) || (said == "") != (tc.event == "") || live.reads != tc.reads {
				t.Errorf("%s\nevents: %q, want %q; asked %d times, want %d", tc.reason, said, tc.event, live.reads, tc.reads)
			}
		})
	}
}

// sameError compares by Is, or by the reason that an API server gives.
func sameError(got, want error) bool {
	return errors.Is(got, want) || apierrors.ReasonForError(want) != metav1.StatusReasonUnknown && apierrors.ReasonForError(got) == apierrors.ReasonForError(want)
}

// remake makes the syncer's core anew, of what the context says now.
func (w *world) remake(s syncer.Syncer, o syncer.Options) {
	w.Helper()
	core, err := syncer.NewCore(w.reg, s, withRecorder(o, w.events), w.clock)
	w.Must(err)
	w.core = core
}

// TestNameThatIsLookedAt: a name that was taken may become free while its user is refused. Then nobody else would wake the object, and so it waits from
// before the second look on.
func TestNameThatIsLookedAt(t *testing.T) {
	foreign := imageOf("a", stranger)
	cases := map[string]struct {
		reason string
		look   func(w *world, wake func()) error // when the name is looked at again
		o      syncer.Options
		result ctrl.Result
		want   error
		woken  []string
	}{
		"Freed": {
			reason: "It is freed, and the pass is made again.", result: again, woken: []string{"ns/a"},
			look: func(w *world, wake func()) error { w.Must(w.p.Delete(w.Context(), foreign)); wake(); return nil },
		},
		"Changed": {
			reason: "It is changed, perhaps to one of ours.", result: again,
			look: func(w *world, _ func()) error {
				w.Must(w.p.Patch(w.Context(), foreign.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"data":{"new":"1"}}`))))
				return nil
			},
		},
		"Unread": {reason: "Nobody says what has become of it.", look: func(*world, func()) error { return errBoom }, want: errBoom},
		"Taken":  {reason: "It is still taken.", look: func(*world, func()) error { return nil }, want: syncer.ErrConflict},
		"Unheard": {
			reason: "It is still taken, and nobody is told.", look: func(*world, func()) error { return nil },
			o: syncer.Options{OnConflict: syncer.ConflictIgnore, SlowRecheck: time.Hour}, result: ctrl.Result{RequeueAfter: time.Hour},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w, q := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{foreign}}), newQueue(t)
			cache := &answering{Client: w.p}
			cache.answer = func(read int, _ *corev1.ConfigMap) (bool, error) {
				if read == 2 {
					if told := len(w.events.all()); (told == 0) != (tc.o.OnConflict == syncer.ConflictIgnore) {
						t.Errorf("%s\nthe user was told %d times before the second look", tc.reason, told)
					}
					err := tc.look(w, func() { w.core.HostSeen(foreign, true, q) })
					return err != nil, err
				}
				return false, nil
			}
			w.reg.PhysicalManager = split{w.reg.PhysicalManager, cache, w.p}
			w.remake(w.syncer, tc.o)
			if got, err := w.pass("a"); got != tc.result || (err == nil) != (tc.want == nil) || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("%s\ngot %v, %v, want %v, %v", tc.reason, got, err, tc.result, tc.want)
			}
			if diff := cmp.Diff(tc.woken, enqueued(q)); diff != "" {
				t.Errorf("%s\nwoken: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPassesWaitForTheirOwnWrites: after a write to either cluster nothing is done until the cache of that cluster shows it, or for ten seconds.
func TestPassesWaitForTheirOwnWrites(t *testing.T) {
	w := newWorld(t, setting{o: syncer.Options{HostDeletion: syncer.BeforeVirtual}, v: []runtime.Object{virtualMap("a")}})
	name := translate.PhysicalName("a", home)
	host, tenant := &answering{Client: w.p}, &answering{Client: w.API}
	w.reg.PhysicalManager, w.reg.VirtualManager = clientOf{w.reg.PhysicalManager, host}, clientOf{w.reg.VirtualManager, tenant}
	w.remake(w.syncer, syncer.Options{HostDeletion: syncer.BeforeVirtual})
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
	step("the image is made, and looked at once more", wait, "SyncDown")
	if m := w.read(w.API, home, "a"); !cmp.Equal(m.Finalizers, []string{"syncer.moorage.dev/configmaps"}) {
		t.Errorf("finalizers: %v", m.Finalizers)
	}
	host.answer = absent
	step("the cache of the host does not show it", wait)
	host.answer = nil
	step("it does", ctrl.Result{}, "Sync")

	w.Delete(virtualMap("a"))
	before := w.read(w.API, home, "a")
	w.core.VirtualSeen(before, false)
	step("the image goes first", wait)
	if w.host(name) != nil {
		t.Fatal("it is still there")
	}
	step("and then the object", wait)
	tenant.answer = func(_ int, into *corev1.ConfigMap) (bool, error) {
		before.DeepCopyInto(into)
		return true, nil
	}
	step("the virtual cache still shows it", wait)
	w.clock.SetTime(w.clock.Now().Add(11 * time.Second))
	if result, err := w.pass("a"); err != nil || result != again {
		t.Errorf("it is waited for too long: %v, %v", result, err)
	}
}

// TestWhoseImageItIs: rows of whose a host object is that TestDispatch does not have: marks that are copied, that of another cluster, and passes in which
// it cannot be told.
func TestWhoseImageItIs(t *testing.T) {
	other, former := annotated(translator.ClusterAnnotation, "other"), annotated(translator.UIDAnnotation, "former")
	ofB := func(m *corev1.ConfigMap) {
		m.Annotations = map[string]string{translator.NameAnnotation: "b", translator.NamespaceAnnotation: home, translator.UIDAnnotation: "uid-of-b"}
	}
	unlabelled := func(m *corev1.ConfigMap) { m.Labels = nil }
	overwrite, adopt := syncer.Options{OnConflict: syncer.ConflictOverwrite}, syncer.Options{OnConflict: syncer.ConflictAdopt}
	hostFirst := adopt
	hostFirst.HostDeletion = syncer.BeforeVirtual
	here, leaving := []runtime.Object{virtualMap("a")}, []runtime.Object{virtualMap("a", terminating, func(m *corev1.ConfigMap) { m.Finalizers = append(m.Finalizers, "syncer.moorage.dev/configmaps") })}
	cases := map[string]struct {
		reason  string
		s       setting
		managed error
		told    string
	}{
		"OverwrittenImage":  {"The image of another object is no former image of this one.", setting{o: overwrite, v: here, p: []runtime.Object{imageOf("a", ofB)}}, nil, "Sync, patch"},
		"CopiedAnnotations": {"Annotations without the label are a copy, and no former image.", setting{o: adopt, v: here, p: []runtime.Object{imageOf("a", former, unlabelled)}}, nil, "Sync, patch"},
		"OverwrittenGone":   {"What is not ours is overwritten for an object, and not deleted without one.", setting{o: overwrite, p: []runtime.Object{imageOf("a", stranger)}}, nil, ""},
		"Untold":            {"A pass that cannot tell fails.", setting{v: here, p: []runtime.Object{imageOf("a")}}, errBoom, "error, told"},
		"UntoldStranger":    {"It does not take what it cannot tell for somebody else's.", setting{p: []runtime.Object{imageOf("a", stranger)}}, errBoom, "error"},
		"OtherUnnamed":      {"Without the name of its own cluster, that of another one says nothing.", setting{v: here, p: []runtime.Object{imageOf("a", other)}}, nil, "Sync, patch"},
		"UnnamedImage":      {"An image without the name of its cluster is taken as it is.", setting{cluster: "first", v: here, p: []runtime.Object{imageOf("a")}}, nil, "Sync, patch"},
		"OtherGone":         {"Nor without the object.", setting{p: []runtime.Object{imageOf("a", other)}}, nil, "delete image-of-a at 999"},
		"UnnamedGone":       {"Without the name of its cluster, an image is ours by its marks.", setting{cluster: "first", p: []runtime.Object{imageOf("a")}}, nil, "delete image-of-a at 999"},
		"OtherSameUID":      {"The UID of the object outweighs that of the cluster.", setting{cluster: "first", v: here, p: []runtime.Object{imageOf("a", other)}}, nil, "Sync, patch"},
		"OtherAnotherUID":   {"With another UID it is that of another cluster.", setting{cluster: "first", v: here, p: []runtime.Object{imageOf("a", other, former)}}, nil, "error, told"},
		"AdoptedElsewhere":  {"What another cluster made can be adopted, and is no former image.", setting{cluster: "first", o: adopt, v: here, p: []runtime.Object{imageOf("a", other, former)}}, nil, "Sync, patch"},
		"OverwrittenThere":  {"Nor is it where everything is overwritten.", setting{cluster: "first", o: overwrite, v: here, p: []runtime.Object{imageOf("a", other, former)}}, nil, "Sync, patch"},
		"LeftElsewhere":     {"It is not deleted with an object that had not adopted it yet.", setting{cluster: "first", o: hostFirst, v: leaving, p: []runtime.Object{imageOf("a", other, former)}}, nil, ""},
		"AlreadyGoing":      {"What is going is not deleted again.", setting{p: []runtime.Object{imageOf("a", terminating)}}, nil, ""},
		"NoUID":             {"Without a UID there is no precondition to delete it with.", setting{p: []runtime.Object{imageOf("a", func(m *corev1.ConfigMap) { m.UID = "" })}}, nil, "delete anything"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.s)
			w.syncer.setManagedErr(tc.managed)
			if got := w.tellPass(tc.s.o); got != tc.told {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.told)
			}
		})
	}
}

// TestUpSyncerOfATakenName: a syncer that wants to see host objects without a virtual one does not see one that somebody else has beside it.
func TestUpSyncerOfATakenName(t *testing.T) {
	w := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", stranger)}, looksUp: true})
	if _, err := w.pass("a"); !errors.Is(err, syncer.ErrConflict) || len(w.syncer.calls) != 0 {
		t.Errorf("got error %v, calls %v", err, w.syncer.calls)
	}
}

// TestCachedConfirmation: who believes the cache asks nobody, neither at the start nor for a deletion.
func TestCachedConfirmation(t *testing.T) {
	up := func(ctx *synccontext.SyncContext, pObj client.Object) (ctrl.Result, error) {
		return syncer.DeleteObject(ctx, pObj)
	}
	w := newWorld(t, setting{p: []runtime.Object{imageOf("a")}})
	w.reg.VirtualManager = managerOf{w.reg.VirtualManager, nil} // a reader that panics
	w.remake(lookingUp{w.syncer, up}, syncer.Options{ConfirmAbsence: syncer.ConfirmCached})
	if w.mustPass(); w.hostNames() != nil {
		t.Errorf("left: %v", w.hostNames())
	}
}

// byLabelDown makes its images under the names that it says.
type byLabelDown struct{ byLabel }

func (s byLabelDown) SyncDown(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error) {
	return s.SyncDownCreate(ctx, vObj, s.TranslateMetadata(vObj))
}

// TestNameThatNoEventLeadsTo: what was made is found again without an event of the host, and without the virtual object.
func TestNameThatNoEventLeadsTo(t *testing.T) {
	v := virtualMap("a", func(m *corev1.ConfigMap) { m.Labels = map[string]string{"host": "somewhere"} })
	w := newWorld(t, setting{v: []runtime.Object{v}})
	w.remake(byLabelDown{byLabel{w.syncer}}, syncer.Options{})
	w.mustPass()
	if w.host("somewhere") == nil {
		t.Fatal("nothing is made")
	}
	w.Delete(v)
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.mustPass()
	if w.host("somewhere") != nil {
		t.Error("the host object is forgotten")
	}
}
