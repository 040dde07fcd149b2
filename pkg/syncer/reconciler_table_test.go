package syncer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// TestReconcileTable runs the decision table case by case: the objects in both clusters,
// the calls of the syncer, the remaining host objects, and the events.
func TestReconcileTable(t *testing.T) {
	name := translate.PhysicalName("a", "ns")
	legacy := syncer.LegacyOptions()
	cases := map[string]struct {
		reason string
		v, p   []runtime.Object
		o      syncer.Options
		up     bool
		calls  []string
		host   []string // names of what is left
		events []string
		err    error
	}{
		"VirtualOnly": {
			reason: "SyncDown is called for a virtual object without a host object.",
			v:      []runtime.Object{virtualMap("a")},
			calls:  []string{"SyncDown"}, host: []string{name},
		},
		"Both": {
			reason: "Sync is called if both exist.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a")},
			calls: []string{"Sync"}, host: []string{name},
		},
		"HostOnly": {
			reason: "A host object without a virtual object is deleted.",
			p:      []runtime.Object{imageOf("a")},
		},
		"HostOnlyAndUp": {
			reason: "An UpSyncer gets a host object without a virtual object.",
			p:      []runtime.Object{imageOf("a")}, up: true,
			calls: []string{"SyncUp"}, host: []string{name},
		},
		"HostOnlyForeignAndUp": {
			reason: "An UpSyncer gets foreign host objects as well.",
			p:      []runtime.Object{imageOf("a", unowned)}, up: true,
			calls: []string{"SyncUp"}, host: []string{name},
		},
		"HostOnlyForeign": {
			reason: "A foreign host object is left alone.",
			p:      []runtime.Object{imageOf("a", unowned)}, host: []string{name},
		},
		"HostOnlyOfAnother": {
			reason: "The image of another virtual object is left alone.",
			p:      []runtime.Object{imageOf("a", annotated(translator.NameAnnotation, "b"))}, host: []string{name},
		},
		"Neither": {reason: "There is nothing to do."},
		"Collision": {
			reason: "A foreign host object is left alone and the conflict is reported.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", unowned)},
			host: []string{name}, err: syncer.ErrConflict,
			events: []string{
				"Warning Conflict a: test/" + name + ": conflict: cannot sync virtual object as " +
					"unmanaged physical object exists with desired name",
			},
		},
		"CollisionIgnored": {
			reason: "With ConflictIgnore no event is emitted.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", unowned)},
			o: syncer.Options{OnConflict: syncer.ConflictIgnore}, host: []string{name},
		},
		"CollisionAdopted": {
			reason: "With ConflictAdopt an unowned object is adopted.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", unowned)},
			o: syncer.Options{OnConflict: syncer.ConflictAdopt}, calls: []string{"Sync"}, host: []string{name},
		},
		"CollisionLegacy": {
			reason: "With LegacyOptions it is overwritten.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", unowned)},
			o: legacy, calls: []string{"Sync"}, host: []string{name},
		},
		"Ambiguous": {
			reason: "The image of another virtual object is never shared, adopted or not.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{
				imageOf("a", annotated(translator.NameAnnotation, "b")),
			},
			o: syncer.Options{OnConflict: syncer.ConflictAdopt}, host: []string{name}, err: syncer.ErrConflict,
			events: []string{
				"Warning Conflict a: test/" + name + ": conflict: cannot sync virtual object as " +
					"physical object with desired name belongs to virtual object ns/b",
			},
		},
		"AmbiguousLegacy": {
			reason: "LegacyOptions have the former behavior.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{
				imageOf("a", annotated(translator.NameAnnotation, "b")),
			},
			o: legacy, calls: []string{"Sync"}, host: []string{name},
		},
		"Former": {
			reason: "The image of a former object is deleted.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{
				imageOf("a", annotated(translator.UIDAnnotation, "former")),
			},
		},
		"FormerIgnored": {
			reason: "With UIDIgnore the image is kept.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{
				imageOf("a", annotated(translator.UIDAnnotation, "former")),
			},
			o: syncer.Options{UIDPolicy: syncer.UIDIgnore}, calls: []string{"Sync"}, host: []string{name},
		},
		"FormerLegacy": {
			reason: "LegacyOptions have the former behavior.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{
				imageOf("a", annotated(translator.UIDAnnotation, "former")),
			},
			o: legacy, calls: []string{"Sync"}, host: []string{name},
		},
		"OldImage": {
			reason: "An image without a UID counts as the current one.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{
				imageOf("a", annotated(translator.UIDAnnotation, "")),
			},
			calls: []string{"Sync"}, host: []string{name},
		},
		"FormerGoing": {
			reason: "Nothing is created while the former image is being deleted.",
			v:      []runtime.Object{virtualMap("a")},
			p: []runtime.Object{
				imageOf("a", annotated(translator.UIDAnnotation, "former"), terminating),
			}, host: []string{name},
		},
		"Terminating": {
			reason: "Nothing is created for an object that is being deleted.",
			v:      []runtime.Object{virtualMap("a", terminating)},
		},
		"TerminatingLegacy": {
			reason: "LegacyOptions have the former behavior.",
			v:      []runtime.Object{virtualMap("a", terminating)}, o: legacy,
			calls: []string{"SyncDown"}, host: []string{name},
		},
		"TerminatingBoth": {
			reason: "An object that is being deleted is still synced.",
			v:      []runtime.Object{virtualMap("a", terminating)}, p: []runtime.Object{imageOf("a")},
			calls: []string{"Sync"}, host: []string{name},
		},
		"AlreadyGoing": {
			reason: "A host object that is being deleted is not deleted again.",
			p:      []runtime.Object{imageOf("a", terminating)}, host: []string{name},
		},
	}
	for n, tc := range cases {
		t.Run(n, func(t *testing.T) {
			w := newWorld(t, worldOptions{o: tc.o, v: tc.v, p: tc.p, upSyncer: tc.up})
			_, err := w.pass("a")
			if !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
				t.Errorf("%s\ngot error %v, want %v", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.calls, w.syncer.calls); diff != "" {
				t.Errorf("%s\ncalls: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.host, w.hostNames()); diff != "" {
				t.Errorf("%s\nhost: -want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.events, w.events.all()); diff != "" {
				t.Errorf("%s\nevents: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A starterSyncer is a syncer with a Starter.
type starterSyncer struct {
	*mapSyncer

	skip bool
	err  error
}

func (s starterSyncer) ReconcileStart(*synccontext.SyncContext, ctrl.Request) (bool, error) {
	s.record("start")
	return s.skip, s.err
}

func (s starterSyncer) ReconcileEnd() { s.record("end") }

func TestStarter(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason  string
		o       syncer.Options
		skip    bool
		err     error
		syncErr error
		calls   []string
		want    error
	}{
		"Around": {reason: "It is called before and after a pass.", calls: []string{"start", "SyncDown", "end"}},
		"Legacy": {
			reason: "With LegacyOptions it is the same.", o: syncer.LegacyOptions(), calls: []string{"start", "SyncDown", "end"},
		},
		"Skip": {reason: "The end is called after a pass that was skipped.", skip: true, calls: []string{"start", "end"}},
		"Error": {
			reason: "The end is called after a start that failed.", err: boom, calls: []string{"start", "end"}, want: boom,
		},
		"Failed": {
			reason: "The end is called after a pass that failed.", syncErr: boom, calls: []string{"start", "SyncDown", "end"},
			want: boom,
		},
	}
	for n, tc := range cases {
		t.Run(n, func(t *testing.T) {
			w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}})
			w.syncer.syncErr = tc.syncErr
			core, err := syncer.NewCore(w.reg, starterSyncer{w.syncer, tc.skip, tc.err}, withRecorder(tc.o, w.events), w.clock)
			w.Must(err)
			w.core = core
			if _, err := w.pass("a"); !errors.Is(err, tc.want) {
				t.Errorf("%s\ngot error %v, want %v", tc.reason, err, tc.want)
			}
			if diff := cmp.Diff(tc.calls, w.syncer.calls); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// A panickingSyncer panics in SyncDown.
type panickingSyncer struct{ starterSyncer }

func (panickingSyncer) SyncDown(*synccontext.SyncContext, client.Object) (ctrl.Result, error) {
	panic("boom")
}

// TestStarterEndAfterPanic verifies that ReconcileEnd is called after a pass that panics,
// which a controller survives.
func TestStarterEndAfterPanic(t *testing.T) {
	w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}})
	core, err := syncer.NewCore(
		w.reg, panickingSyncer{starterSyncer{mapSyncer: w.syncer}}, syncer.Options{Recorder: w.events}, w.clock)
	w.Must(err)
	w.core = core
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = w.pass("a")
	}()
	if diff := cmp.Diff([]string{"start", "end"}, w.syncer.calls); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// A starterV2Syncer is a syncer with a StarterV2.
type starterV2Syncer struct {
	*mapSyncer

	skip bool
	err  error
}

func (s starterV2Syncer) ReconcileStart(
	*synccontext.SyncContext, ctrl.Request,
) (bool, func(ctrl.Result, error), error) {
	s.record("start")
	end := func(r ctrl.Result, err error) { s.record(fmt.Sprintf("end %v %v", r.RequeueAfter, err)) }
	return s.skip, end, s.err
}

// TestStarterV2 verifies that the end function receives the result of the pass.
func TestStarterV2(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason  string
		skip    bool
		err     error
		syncErr error
		calls   []string
	}{
		"Around": {"It is called before and after a pass.", false, nil, nil, []string{"start", "SyncDown", "end 0s <nil>"}},
		"Skip":   {"The end is called after a pass that was skipped.", true, nil, nil, []string{"start", "end 0s <nil>"}},
		"Error":  {"The end function gets the error of the start.", false, boom, nil, []string{"start", "end 0s boom"}},
		"Failed": {
			"The end function gets the error of the pass.", false, nil, boom, []string{"start", "SyncDown", "end 0s boom"},
		},
		"Hopeless": {
			"The end function gets the result for the queue.", false, nil, apierrors.NewBadRequest("no"),
			[]string{"start", "SyncDown", "end 10m0s <nil>"},
		},
	}
	for n, tc := range cases {
		t.Run(n, func(t *testing.T) {
			w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}})
			w.syncer.syncErr = tc.syncErr
			core, err := syncer.NewCore(
				w.reg, starterV2Syncer{w.syncer, tc.skip, tc.err}, syncer.Options{Recorder: w.events}, w.clock)
			w.Must(err)
			w.core = core
			if _, err := w.pass("a"); !errors.Is(err, tc.err) && !errors.Is(err, tc.syncErr) {
				t.Errorf("%s\ngot error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.calls, w.syncer.calls); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// hostNames returns the names of the host objects.
func (w *world) hostNames() []string {
	w.Helper()
	list := &configMaps{}
	w.Must(w.p.List(w.Context(), list, client.InNamespace(target)))
	var out []string
	for _, m := range list.Items {
		out = append(out, m.Name)
	}
	return out
}

// TestHostNameCollision verifies that two virtual objects with the same host name never
// share a host object. The second one gets a Conflict event, and the name when the first
// one is gone.
func TestHostNameCollision(t *testing.T) {
	one, two := types.NamespacedName{Namespace: "c", Name: "a-x-b"}, types.NamespacedName{Namespace: "b-x-c", Name: "a"}
	for what, pair := range map[string][2]types.NamespacedName{"OneFirst": {one, two}, "TwoFirst": {two, one}} {
		t.Run(what, func(t *testing.T) {
			objects := map[types.NamespacedName]*corev1.ConfigMap{}
			for _, key := range pair {
				objects[key] = virtualMap(key.Name, func(m *corev1.ConfigMap) {
					m.Namespace, m.Data = key.Namespace, map[string]string{"of": key.Namespace}
				})
			}
			w := newWorld(t, worldOptions{v: []runtime.Object{objects[one], objects[two]}})
			pass := func(key types.NamespacedName) error {
				_, err := w.core.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
				return err
			}
			name, q := hostName(one), newQueue(t)
			if err := pass(pair[0]); err != nil || w.host(name.Name).Data["of"] != pair[0].Namespace {
				t.Fatalf("the first: %v", err)
			}
			w.core.HandleHostEvent(w.host(name.Name), false, q)
			first := w.host(name.Name)
			if err := pass(pair[1]); !errors.Is(err, syncer.ErrConflict) || len(w.events.all()) != 1 {
				t.Errorf("the second: %v, events %v", err, w.events.all())
			}
			if diff := cmp.Diff(first, w.host(name.Name)); diff != "" {
				t.Errorf("the first image was changed: -before, +after:\n%s", diff)
			}
			w.Delete(objects[pair[0]])
			enqueued(q)
			if err := pass(pair[0]); err != nil || w.host(name.Name) != nil {
				t.Fatalf("the image of the first was not deleted: %v", err)
			}
			w.core.HandleHostEvent(first, true, q)
			if names := enqueued(q); !slices.Contains(names, pair[1].String()) {
				t.Errorf("the second is not enqueued: %v", names)
			}
			if err := pass(pair[1]); err != nil || w.host(name.Name).Data["of"] != pair[1].Namespace {
				t.Errorf("the second does not get the name: %v", err)
			}
		})
	}
}
