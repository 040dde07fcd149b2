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

// TestDispatch goes through the dispatch table row by row: what is where, who is
// called, what is left on the host, and what the user hears.
func TestDispatch(t *testing.T) {
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
		"OnlyHere": {
			reason: "A virtual object without a host object is synced down.",
			v:      []runtime.Object{virtualMap("a")},
			calls:  []string{"SyncDown"}, host: []string{name},
		},
		"Both": {
			reason: "Both are synced.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a")},
			calls: []string{"Sync"}, host: []string{name},
		},
		"OnlyThere": {
			reason: "A host object without a virtual one goes.",
			p:      []runtime.Object{imageOf("a")},
		},
		"OnlyThereAndUp": {
			reason: "Unless the syncer wants to see it.",
			p:      []runtime.Object{imageOf("a")}, up: true,
			calls: []string{"SyncUp"}, host: []string{name},
		},
		"OnlyThereForeignAndUp": {
			reason: "It is shown what does not belong to it as well.",
			p:      []runtime.Object{imageOf("a", stranger)}, up: true,
			calls: []string{"SyncUp"}, host: []string{name},
		},
		"OnlyThereForeign": {
			reason: "What does not belong to it is none of its business.",
			p:      []runtime.Object{imageOf("a", stranger)}, host: []string{name},
		},
		"OnlyThereOfAnother": {
			reason: "What belongs to another virtual object is that one's.",
			p:      []runtime.Object{imageOf("a", annotated(translator.NameAnnotation, "b"))}, host: []string{name},
		},
		"Neither": {reason: "There is nothing to do."},
		"Collision": {
			reason: "A host object of somebody else is left alone, and the user is told.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", stranger)},
			host: []string{name}, err: syncer.ErrConflict,
			events: []string{"Warning Conflict a: test/" + name + ": conflict: cannot sync virtual object as unmanaged physical object exists with desired name"},
		},
		"CollisionIgnored": {
			reason: "The user can be spared.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", stranger)},
			o: syncer.Options{OnConflict: syncer.ConflictIgnore}, host: []string{name},
		},
		"CollisionAdopted": {
			reason: "It can be adopted.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", stranger)},
			o: syncer.Options{OnConflict: syncer.ConflictAdopt}, calls: []string{"Sync"}, host: []string{name},
		},
		"CollisionLegacy": {
			reason: "It used to be overwritten.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", stranger)},
			o: legacy, calls: []string{"Sync"}, host: []string{name},
		},
		"Ambiguous": {
			reason: "The image of another virtual object is never shared, adopted or not.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", annotated(translator.NameAnnotation, "b"))},
			o: syncer.Options{OnConflict: syncer.ConflictAdopt}, host: []string{name}, err: syncer.ErrConflict,
			events: []string{"Warning Conflict a: test/" + name + ": conflict: cannot sync virtual object as physical object with desired name belongs to virtual object ns/b"},
		},
		"AmbiguousLegacy": {
			reason: "It used to be.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", annotated(translator.NameAnnotation, "b"))},
			o: legacy, calls: []string{"Sync"}, host: []string{name},
		},
		"Former": {
			reason: "The image of a former object of that name makes room.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", annotated(translator.UIDAnnotation, "former"))},
		},
		"FormerIgnored": {
			reason: "It can be taken over.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", annotated(translator.UIDAnnotation, "former"))},
			o: syncer.Options{UIDPolicy: syncer.UIDIgnore}, calls: []string{"Sync"}, host: []string{name},
		},
		"FormerLegacy": {
			reason: "It used to be.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", annotated(translator.UIDAnnotation, "former"))},
			o: legacy, calls: []string{"Sync"}, host: []string{name},
		},
		"OldImage": {
			reason: "What has no UID yet is taken as it is.",
			v:      []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a", annotated(translator.UIDAnnotation, ""))},
			calls: []string{"Sync"}, host: []string{name},
		},
		"FormerGoing": {
			reason: "Nothing is made while the former image goes.",
			v:      []runtime.Object{virtualMap("a")},
			p:      []runtime.Object{imageOf("a", annotated(translator.UIDAnnotation, "former"), terminating)}, host: []string{name},
		},
		"Terminating": {
			reason: "Nothing is made for what is being deleted.",
			v:      []runtime.Object{virtualMap("a", terminating)},
		},
		"TerminatingLegacy": {
			reason: "It used to be.",
			v:      []runtime.Object{virtualMap("a", terminating)}, o: legacy,
			calls: []string{"SyncDown"}, host: []string{name},
		},
		"TerminatingBoth": {
			reason: "What is being deleted is kept in step until it is gone.",
			v:      []runtime.Object{virtualMap("a", terminating)}, p: []runtime.Object{imageOf("a")},
			calls: []string{"Sync"}, host: []string{name},
		},
		"AlreadyGoing": {
			reason: "What is being deleted on the host is not deleted again.",
			p:      []runtime.Object{imageOf("a", terminating)}, host: []string{name},
		},
	}
	for n, tc := range cases {
		t.Run(n, func(t *testing.T) {
			w := newWorld(t, setting{o: tc.o, v: tc.v, p: tc.p, looksUp: tc.up})
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

// starting is a syncer with a Starter.
type starting struct {
	*mapSyncer

	skip bool
	err  error
}

func (s starting) ReconcileStart(*synccontext.SyncContext, ctrl.Request) (bool, error) {
	s.called("start")
	return s.skip, s.err
}

func (s starting) ReconcileEnd() { s.called("end") }

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
		"Legacy": {reason: "So it always was.", o: syncer.LegacyOptions(), calls: []string{"start", "SyncDown", "end"}},
		"Skip":   {reason: "The end is called after a pass that was skipped.", skip: true, calls: []string{"start", "end"}},
		"Error":  {reason: "The end is called after a start that failed.", err: boom, calls: []string{"start", "end"}, want: boom},
		"Failed": {reason: "The end is called after a pass that failed.", syncErr: boom, calls: []string{"start", "SyncDown", "end"}, want: boom},
	}
	for n, tc := range cases {
		t.Run(n, func(t *testing.T) {
			w := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}})
			w.syncer.syncErr = tc.syncErr
			core, err := syncer.NewCore(w.reg, starting{w.syncer, tc.skip, tc.err}, withRecorder(tc.o, w.events), w.clock)
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

// panicking is a syncer that does.
type panicking struct{ starting }

func (panicking) SyncDown(*synccontext.SyncContext, client.Object) (ctrl.Result, error) {
	panic("boom")
}

// TestStarterAfterAPanic: a controller survives a pass that panics, and so the end is
// called after one as well.
func TestStarterAfterAPanic(t *testing.T) {
	w := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}})
	core, err := syncer.NewCore(w.reg, panicking{starting{mapSyncer: w.syncer}}, syncer.Options{Recorder: w.events}, w.clock)
	w.Must(err)
	w.core = core
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it did not panic")
			}
		}()
		_, _ = w.pass("a")
	}()
	if diff := cmp.Diff([]string{"start", "end"}, w.syncer.calls); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// startingV2 is a syncer with a StarterV2.
type startingV2 struct {
	*mapSyncer

	skip bool
	err  error
}

func (s startingV2) ReconcileStart(*synccontext.SyncContext, ctrl.Request) (bool, func(ctrl.Result, error), error) {
	s.called("start")
	end := func(r ctrl.Result, err error) { s.called(fmt.Sprintf("end %v %v", r.RequeueAfter, err)) }
	return s.skip, end, s.err
}

// TestStarterV2: the end is told what becomes of the pass.
func TestStarterV2(t *testing.T) {
	boom := errors.New("boom")
	cases := map[string]struct {
		reason  string
		skip    bool
		err     error
		syncErr error
		calls   []string
	}{
		"Around":   {"It is called before and after a pass.", false, nil, nil, []string{"start", "SyncDown", "end 0s <nil>"}},
		"Skip":     {"The end is called after a pass that was skipped.", true, nil, nil, []string{"start", "end 0s <nil>"}},
		"Error":    {"The end is told why the start failed.", false, boom, nil, []string{"start", "end 0s boom"}},
		"Failed":   {"The end is told why the pass failed.", false, nil, boom, []string{"start", "SyncDown", "end 0s boom"}},
		"Hopeless": {"The end is told what the queue is told.", false, nil, apierrors.NewBadRequest("no"), []string{"start", "SyncDown", "end 10m0s <nil>"}},
	}
	for n, tc := range cases {
		t.Run(n, func(t *testing.T) {
			w := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}})
			w.syncer.syncErr = tc.syncErr
			core, err := syncer.NewCore(w.reg, startingV2{w.syncer, tc.skip, tc.err}, syncer.Options{Recorder: w.events}, w.clock)
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

// hostNames returns the names of what is on the host.
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

// TestAmbiguousPair: two virtual objects whose host names are the same never share a
// host object. The second is told, and gets the name when the first is gone.
func TestAmbiguousPair(t *testing.T) {
	one, two := types.NamespacedName{Namespace: "c", Name: "a-x-b"}, types.NamespacedName{Namespace: "b-x-c", Name: "a"}
	for what, pair := range map[string][2]types.NamespacedName{"OneFirst": {one, two}, "TwoFirst": {two, one}} {
		t.Run(what, func(t *testing.T) {
			objects := map[types.NamespacedName]*corev1.ConfigMap{}
			for _, key := range pair {
				objects[key] = virtualMap(key.Name, func(m *corev1.ConfigMap) {
					m.Namespace, m.Data = key.Namespace, map[string]string{"of": key.Namespace}
				})
			}
			w := newWorld(t, setting{v: []runtime.Object{objects[one], objects[two]}})
			pass := func(key types.NamespacedName) error {
				_, err := w.core.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
				return err
			}
			name, q := hostName(one), newQueue(t)
			if err := pass(pair[0]); err != nil || w.host(name.Name).Data["of"] != pair[0].Namespace {
				t.Fatalf("the first: %v", err)
			}
			w.core.HostSeen(w.host(name.Name), false, q)
			first := w.host(name.Name)
			if err := pass(pair[1]); !errors.Is(err, syncer.ErrConflict) || len(w.events.all()) != 1 {
				t.Errorf("the second: %v, told %v", err, w.events.all())
			}
			if diff := cmp.Diff(first, w.host(name.Name)); diff != "" {
				t.Errorf("the first's is touched: -was, +is:\n%s", diff)
			}
			w.Delete(objects[pair[0]])
			enqueued(q)
			if err := pass(pair[0]); err != nil || w.host(name.Name) != nil {
				t.Fatalf("the first is gone, and its image is not: %v", err)
			}
			w.core.HostSeen(first, true, q)
			if woken := enqueued(q); !slices.Contains(woken, pair[1].String()) {
				t.Errorf("the second is not woken: %v", woken)
			}
			if err := pass(pair[1]); err != nil || w.host(name.Name).Data["of"] != pair[1].Namespace {
				t.Errorf("the second does not get the name: %v", err)
			}
		})
	}
}
