package xp_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// made are objects that Moorage makes, by name: what their users ask for, and what becomes of them before they go back.
var made = map[string]struct {
	ask   func(*world, *left)
	then  func(*world)
	only  func(origin) bool
	asks  func(origin) bool // whether the command leaves it to a user; nil is never
	reply func(*world)      // what the user does then
	want  ends              // in all, after the runtime of before has looked at it
}{
	"made":      {},
	"made-late": {ask: func(_ *world, l *left) { l.spec["forProvider"] = map[string]any{"color": "red"} }},
	"made-named": {
		ask: func(w *world, l *left) {
			l.annotations = map[string]string{"krateo.io/external-name": "existing"}
			w.things["existing"] = &thing{"red", "small"}
		},
	},
	"made-paused": {
		then: func(w *world) {
			w.patch(w.kind, "made-paused", `{"metadata":{"annotations":{"krateo.io/paused":"true"}},`+
				`"spec":{"forProvider":{"color":"green"}}}`)
		},
		want: ends{frozen: true},
	},
	"made-resumed": {
		ask:  func(_ *world, l *left) { l.annotations = map[string]string{"krateo.io/paused": "false"} },
		then: func(w *world) { w.patch(w.kind, "made-resumed", `{"spec":{"forProvider":{"color":"green"}}}`) },
		want: ends{updated: 1},
	},
	"made-orphan": {ask: func(w *world, l *left) { l.orphan(w) }},
	"made-orphan-listed": {
		ask: func(_ *world, l *left) {
			l.spec["deletionPolicy"], l.spec["managementPolicies"] = "Orphan", []any{"Observe", "Create", "Update",
				"LateInitialize", "Delete"}
		},
		asks: func(origin) bool { return true },
		reply: func(w *world) {
			w.patch(w.kind, "made-orphan-listed",
				`{"spec":{"managementPolicies":["Observe","Create","Update","LateInitialize"]}}`)
		},
		only: func(o origin) bool { return o.name == "crossplane-v1" },
	},
	"made-annotated": {
		ask:  func(_ *world, l *left) { l.annotations = map[string]string{"krateo.io/deletion-policy": "orphan"} },
		asks: func(o origin) bool { return o.name == "crossplane-v2" },
		reply: func(w *world) {
			w.patch(w.kind, "made-annotated",
				`{"metadata":{"annotations":{"krateo.io/deletion-policy":null}},"spec":{"managementPolicies":["Observe",`+
					`"Create","Update","LateInitialize"]}}`)
		},
	},
	"made-orphan-observed": {
		then: func(w *world) {
			w.patch(w.kind, "made-orphan-observed",
				`{"metadata":{"annotations":{"krateo.io/management-policy":"observe-delete",`+
					`"krateo.io/deletion-policy":"orphan"}}}`)
		},
		asks: func(origin) bool { return true },
		reply: func(w *world) {
			w.patch(w.kind, "made-orphan-observed",
				`{"metadata":{"annotations":{"krateo.io/management-policy":null}}}`)
		},
		only: func(o origin) bool { return !o.crossplane() },
	},
	"made-secret": {
		ask: func(w *world, l *left) {
			states["secret"].left(w, l)
			l.spec["writeConnectionSecretToRef"].(map[string]any)["name"] = "made"
		},
		only: xpOnly,
	},
	"made-lost": {
		ask:  func(w *world, _ *left) { w.lose["made-lost"] = true },
		asks: assigned,
		reply: func(w *world) {
			w.patch(w.kind, "made-lost", `{"metadata":{"annotations":{"krateo.io/external-name":"made-lost-1"}}}`)
		},
	},
	"made-refused": {ask: func(w *world, _ *left) { w.refuse["made-refused"] = true }},
	"made-others": { // and then no connection is possible, so that Synced does not report it any more
		ask: func(w *world, l *left) {
			l.annotations = map[string]string{"krateo.io/external-name": "others"}
			w.things["others"], w.others["others"] = &thing{"blue", "large"}, true
		},
		then: func(w *world) { w.down["made-others"] = true },
		asks: func(origin) bool { return true },
		reply: func(w *world) {
			w.down["made-others"] = false
			w.patch(w.kind, "made-others", `{"metadata":{"annotations":{"krateo.io/external-name":"made-others-own"}}}`)
		},
	},
	"made-deleting": {
		ask:   func(w *world, _ *left) { w.slow["made-deleting"] = true },
		then:  func(w *world) { w.remove(w.kind, "made-deleting") },
		asks:  xpOnly,
		reply: func(w *world) { w.slow["made-deleting"] = false },
		want:  ends{gone: true},
	},
}

func (o origin) made() (names []string) {
	for _, name := range sorted(made) {
		if only := made[name].only; only == nil || only(o) {
			names = append(names, name)
		}
	}

	return names
}

// TestGoBack takes objects over and makes others, and gives all back to each origin, on an API server, with moorage
// migrate objects. A runtime that does what that of the origin does with what is stored goes on with them: nothing
// is created twice or lost, what is paused is not changed, and deletions end.
func TestGoBack(t *testing.T) {
	bin := programs(t)

	for _, o := range origins() {
		t.Run(o.name, func(t *testing.T) { goBack(t, o, bin) })
	}
}

func goBack(t *testing.T, o origin, bin string) {
	w := newWorld(t, o, bin)
	w.leave()

	for _, kind := range w.configs {
		if err := w.kube.Create(t.Context(), w.blank(kind, "main")); err != nil {
			t.Fatal(err)
		}
	}

	w.migrate()
	w.start()

	stop := w.keep()

	w.make()
	w.migrate()

	for _, kind := range w.configs {
		w.held(kind, "main")
	}

	stop()
	w.back()

	clear(w.slow)

	was := &former{world: w}
	paused := w.frozen()
	counts := maps.Clone(w.updated)
	was.run()
	w.kept(was, counts)

	if diff := cmp.Diff(paused, w.frozen()); diff != "" {
		t.Errorf("what is paused is changed: %s", diff)
	}

	w.farewell(was)
}

// TestGoBackOnceMore gives back two of three objects, and follows docs/migrating.md for the third, with a provider
// that reads no annotations of crossplane-runtime: the command takes over again what went back before the provider
// starts once more, so that nothing is created twice, and nothing changed that is paused.
func TestGoBackOnceMore(t *testing.T) {
	bin := programs(t)

	for _, o := range origins() {
		if o.crossplane() && o.assign {
			t.Run(o.name, func(t *testing.T) { goBackOnceMore(t, o, bin) })
		}
	}
}

func goBackOnceMore(t *testing.T, o origin, bin string) {
	w := newWorld(t, o, bin)
	names := []string{"fine", "paused", "made-lost"}

	for _, kind := range w.configs {
		if err := w.kube.Create(t.Context(), w.blank(kind, "main")); err != nil {
			t.Fatal(err)
		}
	}

	w.put("fine", w.ready("fine"))

	paused := w.ready("paused")
	states["paused"].left(w, paused)
	w.put("paused", paused)

	w.migrate()
	w.startPlain()
	w.settle("fine", "paused")
	w.migrate() // removes the finalizer of before

	w.lose["made-lost"] = true
	w.put("made-lost", &left{spec: w.ready("made-lost").spec})
	w.settle(names...)

	if conflicts := w.migrate("--back-to", w.name); len(conflicts) != 1 || conflicts["made-lost"] == "" {
		t.Fatalf("the conflicts are %v", conflicts)
	}

	if conflicts := w.migrate(); len(conflicts) > 0 {
		t.Fatalf("taken over again, the conflicts are %v", conflicts)
	}

	w.startPlain()
	w.settle(names...)
	made["made-lost"].reply(w)
	w.settle(names...)

	if conflicts := w.migrate("--back-to", w.name); len(conflicts) > 0 {
		t.Fatalf("answered, the conflicts are %v", conflicts)
	}

	// The request for the status failed: asked again, the command removes what is left.
	if err := w.kube.Status().Patch(t.Context(), w.blank(w.kind, "fine"), client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"UpToDate","status":"True"}]}}`))); err != nil {
		t.Fatal(err)
	}

	if conflicts := w.migrate("--back-to", w.name); len(conflicts) > 0 {
		t.Fatalf("asked again, the conflicts are %v", conflicts)
	}

	was := &former{world: w}
	was.run()

	for _, name := range names {
		created := map[string]int{"made-lost": 1}[name]
		if w.created[name] != created || w.updated[name] > 0 || was.refused[name] != "" {
			t.Errorf("%s: created %d, updated %d, %q", name, w.created[name], w.updated[name], was.refused[name])
		}

		w.given(name, w.get(w.kind, name))
	}
}

// startPlain starts a provider whose reconciler has no option of this package.
func (w *world) startPlain() {
	m := &fake.Manager{Client: w.kube, Scheme: w.kube.Scheme()}
	w.r = managed.NewReconciler(m, resource.ManagedKind(w.group().WithKind(w.kind)), managed.WithClock(w.clock),
		managed.WithExternalConnecter(w.cloud))
}

// make lets Moorage make objects.
func (w *world) make() {
	w.Helper()

	for _, name := range w.made() {
		l := &left{spec: w.ready(name).spec}
		if made[name].ask != nil {
			made[name].ask(w, l)
		}

		w.put(name, l)
	}

	w.settle(sorted(w.all(w.kind))...)

	for _, name := range w.made() {
		if made[name].then != nil {
			made[name].then(w)
		}
	}

	w.settle(sorted(w.all(w.kind))...)
}

// back gives the objects back. Those that are left to a user are not changed; once they are answered, nothing is left.
func (w *world) back() {
	w.Helper()

	before := w.all(w.kind)
	questions := w.migrate("--back-to", w.name)

	for _, name := range w.made() {
		blocked := made[name].asks != nil && made[name].asks(w.origin)
		if (questions[name] != "") != blocked {
			w.Errorf("%s: the question is %q", name, questions[name])
		}

		if now := w.get(w.kind, name); blocked && now.GetResourceVersion() != before[name].GetResourceVersion() {
			w.Errorf("%s: it is left to a user, and is changed from\n%v to\n%v", name, before[name], now)
		}
	}

	w.start()

	for name := range questions {
		if made[name].reply != nil {
			made[name].reply(w)
		} else if name == "deleting-creating-lost" {
			w.patch(w.kind, name, `{"metadata":{"annotations":{"krateo.io/external-name":"lost-`+name+`"}}}`)
		} else {
			w.Errorf("%s: the question is %q", name, questions[name])
		}
	}

	w.settle(sorted(questions)...)

	if questions := w.migrate("--back-to", w.name); len(questions) > 0 {
		w.Errorf("asked again, the questions are %v", questions)
	}

	given := w.all(w.kind)
	w.migrate("--back-to", w.name)

	for name, o := range w.all(w.kind) {
		if o.GetResourceVersion() != given[name].GetResourceVersion() {
			w.Errorf("%s: asked a third time, it is changed", name)
		}

		w.given(name, o)
	}

	for _, kind := range w.configs {
		if o := w.get(kind, "main"); !slices.Equal(o.GetFinalizers(), []string{"in-use.crossplane.io"}) {
			w.Errorf("%s main has the finalizers %v", kind, o.GetFinalizers())
		}
	}
}

// given says that nothing is left on an object that its runtime does not know.
func (w *world) given(name string, o *unstructured.Unstructured) {
	w.Helper()

	for key := range o.GetAnnotations() {
		if strings.HasPrefix(key, "moorage.dev/") || w.crossplane() && strings.HasPrefix(key, "krateo.io/") {
			w.Errorf("%s: it still has the annotation %s", name, key)
		}
	}

	if finalizers := o.GetFinalizers(); len(finalizers) > 0 && !slices.Equal(finalizers, []string{w.finalizer()}) {
		w.Errorf("%s: the finalizers are %v", name, finalizers)
	}

	for _, of := range []string{"Created", "UpToDate"} {
		if says := condition(o, of); says != "" {
			w.Errorf("%s: it still has the condition %s: %s", name, of, says)
		}
	}
}

// frozen are the paused objects, and their resources.
func (w *world) frozen() map[string]any {
	out := map[string]any{}

	for name, o := range w.all(w.kind) {
		if states[name].want.frozen || made[name].want.frozen {
			out[name] = []any{essence(o, true), w.things[o.GetAnnotations()[w.domain+"/external-name"]]}
		}
	}

	return out
}

// kept says what the runtime of before has made of the objects.
func (w *world) kept(was *former, updated map[string]int) {
	w.Helper()

	for _, name := range w.states() {
		if want := states[name].want; w.created[name] != want.created || w.updated[name] != want.updated {
			w.Errorf("%s: created %d, updated %d", name, w.created[name], w.updated[name])
		}

		// What was being deleted was answered, and is gone.
		waiting := states[name].want.blocks != "" && !strings.HasPrefix(name, "deleting")
		if why := was.refused[name]; (why != "") != waiting {
			w.Errorf("%s: the runtime of before refuses: %q", name, why)
		}
	}

	for _, name := range w.made() {
		created := 1
		if name == "made-named" {
			created = 0
		}

		o := w.get(w.kind, name)
		if w.created[name] != created || w.updated[name] != updated[name] || was.refused[name] != "" ||
			(o == nil) != made[name].want.gone {
			w.Errorf("%s: created %d, updated %d, it is there: %t, %q", name, w.created[name], w.updated[name],
				o != nil, was.refused[name])
		}

		if w.updated[name] != made[name].want.updated {
			w.Errorf("%s: updated %d", name, w.updated[name])
		}
	}

	if others := w.things["others"]; others == nil || *others != (thing{"blue", "large"}) {
		w.Errorf("the resource of somebody else is %v", others)
	}

	if w.crossplane() {
		w.secretHolds("login", "theirs")
		w.secretHolds("made", "generated")
	}
}

// farewell deletes everything while the runtime of before runs.
func (w *world) farewell(was *former) {
	w.Helper()

	for _, kind := range w.configs {
		w.remove(kind, "main")
	}

	was.run()

	if w.crossplane() && w.get(w.used(), "main") == nil {
		w.Error("the configuration is gone while it is used")
	}

	stays := map[string]string{} // resources of objects that are deleted, by these

	for name, o := range w.all(w.kind) {
		if external := was.mark(o, "external-name"); strings.Contains(name, "orphan") ||
			strings.HasPrefix(name, "made-annotated") {
			stays[name] = external
		}

		w.remove(w.kind, name)
	}

	was.run()

	for name, external := range stays {
		if w.things[external] == nil {
			w.Errorf("%s: its resource %q is deleted", name, external)
		}
	}

	for name, o := range w.all(w.kind) {
		if want := states[name].want; !want.frozen && want.blocks == "" && !made[name].want.frozen {
			w.Errorf("%s: it is still there, with the finalizers %v: %s", name, o.GetFinalizers(), was.refused[name])
		}

		w.patch(w.kind, name, `{"metadata":{"annotations":{"`+w.domain+`/paused":null,"`+w.domain+
			`/external-create-pending":null}},"spec":{"managementPolicies":["*"]}}`)
	}

	was.run()

	for name := range w.all(w.kind) {
		w.Errorf("%s: it is still there: %s", name, was.refused[name])
	}

	for name := range w.things {
		if !strings.Contains(name, "orphan") && !strings.HasPrefix(name, "observed") &&
			!strings.HasPrefix(name, "lost-") && !strings.HasPrefix(name, "made-annotated") && name != "others" {
			w.Errorf("the resource %s is still there", name)
		}
	}

	for _, kind := range w.configs {
		if w.get(kind, "main") != nil {
			w.Errorf("%s main is still there", kind)
		}
	}
}
