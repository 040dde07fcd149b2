package xp_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/xp"
)

const (
	begun = "2026-01-02T03:04:05Z"
	ended = "2026-01-02T03:04:09Z"
)

// A left is an object as a predecessor leaves it. It begins as one that is ready.
type left struct {
	external    string            // its external name; "" is none
	marks       map[string]string // annotations of the domain of the predecessor
	annotations map[string]string // others
	finalizers  []string
	spec        map[string]any
	conditions  []any
	deleted     bool
	resource    *thing
}

func (w *world) ready(name string) *left {
	l := &left{
		external:   name,
		marks:      map[string]string{"external-create-pending": begun, "external-create-succeeded": ended},
		finalizers: []string{w.finalizer()},
		spec:       map[string]any{"forProvider": map[string]any{"color": "red", "size": "small"}},
		conditions: []any{was("Ready", "True", "Available"), was("Synced", "True", "ReconcileSuccess")},
		resource:   &thing{"red", "small"},
	}

	if w.cloud.assign {
		l.external = name + "-0"
	}

	switch w.name {
	case "krateo-v0.7":
		l.spec["deletionPolicy"] = "Delete"
	case "crossplane-v1":
		l.spec["deletionPolicy"] = "Delete"
		l.spec["managementPolicies"] = []any{"*"}
		l.spec["providerConfigRef"] = map[string]any{"name": "main"}
	case "crossplane-v2":
		l.spec["managementPolicies"] = []any{"*"}
		l.spec["providerConfigRef"] = map[string]any{"kind": "ProviderConfig", "name": "main"}
	}

	return l
}

func was(of, status, reason string) map[string]any {
	return map[string]any{"type": of, "status": status, "reason": reason, "lastTransitionTime": ended}
}

// drift changes the resource, so that the spec is not what stands there.
func (l *left) drift() { l.resource.Color = "blue" }

// begin is a creation whose result was not stored.
func (l *left) begin() {
	l.marks = map[string]string{"external-create-pending": begun}
	l.conditions = []any{was("Ready", "False", "Creating"), was("Synced", "False", "ReconcileError")}
}

// unnamed is one without an external name, if the external system assigns it.
func (l *left) unnamed(w *world) {
	if w.cloud.assign {
		l.external = ""
	}
}

// orphan lets the resource stay, as users of the origin say it.
func (l *left) orphan(w *world) {
	switch w.name {
	case "krateo-v0.9":
		l.annotations = map[string]string{"krateo.io/deletion-policy": "orphan"}
	case "crossplane-v2":
		l.spec["managementPolicies"] = []any{"Observe", "Create", "Update", "LateInitialize"}
	default:
		l.spec["deletionPolicy"] = "Orphan"
	}
}

// put stores an object as it was left.
func (w *world) put(name string, l *left) *unstructured.Unstructured {
	w.Helper()

	o := w.blank(w.kind, name)
	annotations := maps.Clone(l.annotations)

	if annotations == nil {
		annotations = map[string]string{}
	}

	for mark, value := range l.marks {
		annotations[w.domain+"/"+mark] = value
	}

	if l.external != "" {
		annotations[w.domain+"/external-name"] = l.external
	}

	o.SetAnnotations(annotations)
	o.SetFinalizers(l.finalizers)
	o.Object["spec"] = l.spec

	if err := w.kube.Create(w.Context(), o); err != nil {
		w.Fatal(err)
	}

	o.Object["status"] = map[string]any{"conditions": l.conditions}
	if err := w.kube.Status().Update(w.Context(), o); err != nil {
		w.Fatal(err)
	}

	if l.resource != nil {
		w.things[cmp.Or(l.external, "lost-"+name)] = l.resource
	}

	if l.marks != nil { // the runtime of before has seen it
		(&former{world: w}).track(o)
	}

	if l.deleted {
		w.remove(w.kind, name)
	}

	return o
}

// An ends is what has become of an object and of what stands for it.
type ends struct {
	created, updated, deleted int

	gone   bool   // the object
	empty  bool   // no resource is there
	frozen bool   // the object is as it was
	blocks string // what Synced says of an object that waits for a user
}

// A state is one that a predecessor leaves objects in.
type state struct {
	left func(*world, *left)
	want ends
	only func(origin) bool // those that have it, or all
}

func xpOnly(o origin) bool   { return o.crossplane() }
func named(o origin) bool    { return !o.assign }
func assigned(o origin) bool { return o.assign }

// states are those that objects are left in, by the names of the objects.
var states = map[string]state{
	"ready":   {left: func(*world, *left) {}},
	"drifted": {left: func(_ *world, l *left) { l.drift() }, want: ends{updated: 1}},
	"new": {left: func(w *world, l *left) {
		*l = left{spec: l.spec}
	}, want: ends{created: 1}},
	"renamed":  {left: func(_ *world, l *left) { l.external = "another-name" }},
	"imported": {left: func(_ *world, l *left) { l.marks = nil }},
	"late": {left: func(_ *world, l *left) {
		l.resource.Size = "large"
		l.spec["forProvider"] = map[string]any{"color": "red", "size": "large"}
	}},
	"failed": {left: func(w *world, l *left) {
		l.unnamed(w)
		l.marks = map[string]string{"external-create-pending": begun, "external-create-failed": ended}
		l.conditions = []any{was("Ready", "False", "Creating"), was("Synced", "False", "ReconcileError")}
		l.resource = nil
	}, want: ends{created: 1}},
	"failed-again": {left: func(w *world, l *left) {
		l.unnamed(w)
		l.marks = map[string]string{"external-create-pending": ended, "external-create-failed": begun}
		l.resource = nil
	}, want: ends{empty: true, blocks: "external-create-pending"}},

	"creating-made": {left: func(_ *world, l *left) { l.begin() }, only: named},
	"creating-lost": {
		left: func(w *world, l *left) { l.begin(); l.unnamed(w) },
		want: ends{blocks: "external-create-pending"}, only: assigned,
	},
	"creating-blank": {
		left: func(w *world, l *left) { l.begin(); l.unnamed(w); l.resource = nil },
		want: ends{empty: true, blocks: "external-create-pending"},
	},

	"deleting": {left: func(_ *world, l *left) { l.deleted = true }, want: ends{deleted: 1, gone: true, empty: true}},
	"deleting-both": {left: func(_ *world, l *left) { // as the first write of Moorage leaves it
		l.deleted, l.finalizers = true, []string{xp.FinalizerName, managed.FinalizerName}
		l.annotations = map[string]string{
			"krateo.io/external-name": l.external, "krateo.io/external-create-pending": begun,
			"krateo.io/external-create-succeeded": ended,
		}
	}, want: ends{deleted: 1, gone: true, empty: true}, only: xpOnly},
	"deleting-ended": {
		left: func(_ *world, l *left) { l.deleted, l.resource = true, nil },
		want: ends{deleted: 1, gone: true, empty: true},
	},
	"deleting-orphan": {left: func(w *world, l *left) { l.deleted = true; l.orphan(w) }, want: ends{gone: true}},
	// The runtime before would have deleted it.
	"deleting-orphan-listed": {left: func(_ *world, l *left) {
		l.deleted, l.spec["deletionPolicy"], l.spec["managementPolicies"] = true, "Orphan", []any{"Observe",
			"Create", "Update", "Delete"}
	}, want: ends{gone: true}, only: func(o origin) bool { return o.name == "crossplane-v1" }},
	"deleting-paused": {
		left: func(_ *world, l *left) { l.deleted, l.marks["paused"] = true, "true"; l.drift() },
		want: ends{frozen: true},
	},
	"deleting-creating-made": {
		left: func(_ *world, l *left) { l.begin(); l.deleted = true },
		want: ends{deleted: 1, gone: true, empty: true}, only: named,
	},
	"deleting-creating-lost": {
		left: func(w *world, l *left) { l.begin(); l.unnamed(w); l.deleted = true },
		want: ends{blocks: "external-create-pending"}, only: assigned,
	},

	"paused": {
		left: func(_ *world, l *left) { l.marks["paused"] = "true"; l.drift() },
		want: ends{frozen: true},
	},
	"paused-missing": {
		left: func(_ *world, l *left) { l.marks["paused"] = "true"; l.resource = nil },
		want: ends{frozen: true, empty: true},
	},
	"paused-late": {left: func(_ *world, l *left) {
		l.marks["paused"] = "true"
		l.spec["forProvider"] = map[string]any{"color": "red"}
	}, want: ends{frozen: true}},
	"paused-policies": {
		left: func(_ *world, l *left) { l.spec["managementPolicies"] = []any{}; l.drift() },
		want: ends{frozen: true}, only: xpOnly,
	},
	"observed": {
		left: func(_ *world, l *left) { l.spec["managementPolicies"] = []any{"Observe"}; l.drift() },
		only: xpOnly,
	},
	"observed-krateo": {left: func(_ *world, l *left) {
		l.annotations = map[string]string{"krateo.io/management-policy": "observe"}
		l.drift()
	}, only: func(o origin) bool { return o.name == "krateo-v0.9" }},
	"orphan": {left: func(w *world, l *left) { l.orphan(w) }},
	"secret": {left: func(w *world, l *left) {
		ref := map[string]any{"name": "login"}
		if w.name == "crossplane-v1" {
			ref["namespace"] = w.namespace
		}

		l.spec["writeConnectionSecretToRef"] = ref
	}, only: xpOnly},
}

// states returns the names of the states that an origin has.
func (o origin) states() (names []string) {
	for _, name := range sorted(states) {
		if only := states[name].only; only == nil || only(o) {
			names = append(names, name)
		}
	}

	return names
}

// leave stores an object in each state, and returns them.
func (w *world) leave() map[string]*unstructured.Unstructured {
	w.Helper()

	for _, name := range w.states() {
		l := w.ready(name)
		states[name].left(w, l)
		o := w.put(name, l)

		if name == "secret" {
			w.leaveSecret(o)
		}
	}

	return w.all(w.kind)
}

// leaveSecret stores the connection Secret of an object as crossplane-runtime makes it.
func (w *world) leaveSecret(of *unstructured.Unstructured) {
	w.Helper()

	s := w.blank("Secret", "login")
	s.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: of.GetAPIVersion(), Kind: of.GetKind(), Name: of.GetName(), UID: of.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}})
	s.SetLabels(map[string]string{"example.org/team": "storage"})
	s.Object["type"] = string(xp.SecretType)
	s.Object["stringData"] = map[string]any{
		"username": of.GetAnnotations()["crossplane.io/external-name"], "password": "theirs",
	}

	if err := w.kube.Create(w.Context(), s); err != nil {
		w.Fatal(err)
	}
}

// leaveConfigs stores the configurations of the objects, with the finalizer of crossplane-runtime and the records
// of their use, and one of each kind that is being deleted while one object uses it.
func (w *world) leaveConfigs() {
	w.Helper()

	for _, kind := range w.configs {
		for _, name := range []string{"main", "leaving", "idle"} {
			o := w.blank(kind, name)
			if name != "idle" {
				o.SetFinalizers([]string{"in-use.crossplane.io"})
			}

			if err := w.kube.Create(w.Context(), o); err != nil {
				w.Fatal(err)
			}

			if name == "leaving" {
				w.remove(kind, name)
			}
		}

		l := w.ready("user-of-" + strings.ToLower(kind))
		ref := map[string]any{"name": "leaving"}

		if w.name == "crossplane-v2" {
			ref["kind"] = kind
		}

		l.spec["providerConfigRef"] = ref
		w.put("user-of-"+strings.ToLower(kind), l)
	}
}

// TestTakeOver takes over objects as each origin leaves them, on an API server, with moorage migrate objects and
// the options that docs/migrating.md names: nothing is created twice or lost, what was paused is not changed, what
// was being deleted ends, and the finalizers of before are gone. From crossplane-runtime it holds without the
// command, too.
func TestTakeOver(t *testing.T) {
	bin := programs(t)

	for _, o := range origins() {
		t.Run(o.name, func(t *testing.T) { takeOver(t, o, bin, true) })

		if o.crossplane() {
			t.Run(o.name+" without the command", func(t *testing.T) { takeOver(t, o, bin, false) })
		}
	}
}

func takeOver(t *testing.T, o origin, bin string, command bool) {
	w := newWorld(t, o, bin)
	before := w.leave()
	w.leaveConfigs()

	if command {
		w.migrate()
	}

	w.start()

	stop := w.keep()
	defer stop()

	w.settle(sorted(w.all(w.kind))...)
	w.judge(before, command)

	if command {
		w.migrated()
	}

	w.answer()
	w.protected()
	w.end()
}

// judge looks at what the takeover has made of each state.
func (w *world) judge(before map[string]*unstructured.Unstructured, command bool) {
	w.Helper()

	for _, name := range w.states() {
		now, want, was := w.get(w.kind, name), states[name].want, before[name]

		if got := [3]int{w.created[name], w.updated[name], w.deleted[name]}; got != [3]int{want.created,
			want.updated, want.deleted} {
			w.Errorf("%s: created, updated and deleted are %v, not %v", name, got, want)
		}

		if (now == nil) != want.gone {
			w.Errorf("%s: the object is there: %t", name, now != nil)
		}

		if w.exists(name, was) == want.empty {
			w.Errorf("%s: a resource is there: %t of %v", name, !want.empty, sorted(w.things))
		}

		if now == nil {
			continue
		}

		if want.frozen && !same(essence(was, !command), essence(now, !command)) {
			w.Errorf("%s: it is changed from\n%v to\n%v", name, essence(was, true), essence(now, true))
		}

		status := "True/"
		if want.frozen {
			status = "False/ReconcilePaused"
		} else if want.blocks != "" {
			status = "False/"
		}

		if says := condition(now, "Synced"); !strings.Contains(says, want.blocks) || !strings.HasPrefix(says, status) {
			w.Errorf("%s: Synced is %s", name, says)
		}
	}

	if w.crossplane() {
		w.secretHolds("login", "theirs")
	}
}

// exists reports whether the resource of an object exists.
func (w *world) exists(name string, was *unstructured.Unstructured) bool {
	for _, external := range []string{was.GetAnnotations()[w.domain+"/external-name"], name, name + "-1",
		"lost-" + name} {
		if external != "" && w.things[external] != nil {
			return true
		}
	}

	return false
}

// secretHolds looks at a connection Secret.
func (w *world) secretHolds(name, password string) {
	w.Helper()

	s := w.get("Secret", name)
	if s == nil {
		w.Errorf("the Secret %s is lost", name)

		return
	}

	data, _, _ := unstructured.NestedStringMap(s.Object, "data")
	if len(data) != 2 || decoded(data["password"]) != password || s.Object["type"] != string(xp.SecretType) {
		w.Errorf("the Secret %s is of the type %v and holds %v", name, s.Object["type"], data)
	}
}

// migrated runs the command again: the finalizers of before are gone where ours are, and what has neither waits for a
// user.
func (w *world) migrated() {
	w.Helper()

	questions := w.migrate()

	for name, o := range w.all(w.kind) {
		want := states[name].want
		stays := want.frozen || want.blocks != ""

		if !slices.Contains(o.GetFinalizers(), managed.FinalizerName) && !stays {
			w.Errorf("%s: the finalizers are %v", name, o.GetFinalizers())
		}

		if w.crossplane() && slices.Contains(o.GetFinalizers(), xp.FinalizerName) && !stays {
			w.Errorf("%s: the finalizer of before is still there", name)
		}

		if says := questions[name]; says != "" && o.GetDeletionTimestamp() == nil {
			w.Errorf("%s: the command says %s", name, says)
		}
	}
}

// unmark removes the annotations that Synced names.
func (w *world) unmark(name string) {
	w.Helper()

	says := condition(w.get(w.kind, name), "Synced")

	for _, key := range []string{
		"krateo.io/external-create-pending", "krateo.io/external-create-succeeded", "moorage.dev/create-attempt",
		"crossplane.io/external-create-pending", "crossplane.io/external-create-succeeded",
	} {
		if strings.Contains(says, key) {
			w.patch(w.kind, name, `{"metadata":{"annotations":{"`+key+`":null}}}`)
		}
	}
}

// answer does what objects that wait for a user ask for, and resumes what is paused. The command, and a process
// that begins, change nothing of it.
func (w *world) answer() {
	w.Helper()

	for _, name := range w.states() {
		switch want := states[name].want; {
		case name == "paused-policies":
			w.patch(w.kind, name, `{"spec":{"managementPolicies":["*"]}}`)
		case want.frozen:
			w.patch(w.kind, name, `{"metadata":{"annotations":{"krateo.io/paused":"false"}}}`)
		case want.blocks != "" && !want.empty:
			w.patch(w.kind, name, `{"metadata":{"annotations":{"krateo.io/external-name":"lost-`+name+`"}}}`)
		case want.blocks != "":
			w.unmark(name)
		}
	}

	w.migrate()
	w.start() // what a process remembers does not matter
	w.settle(sorted(w.all(w.kind))...)

	// What was created before and is not found is not created again unless a user says so.
	if says := condition(w.get(w.kind, "paused-missing"), "Synced"); w.created["paused-missing"] > 0 ||
		!strings.HasPrefix(says, "False/CreationUnresolved") {
		w.Errorf("paused-missing: created %d, Synced is %s", w.created["paused-missing"], says)
	}

	w.unmark("paused-missing")
	w.migrate()
	w.start()
	w.settle(sorted(w.all(w.kind))...)

	for _, name := range w.states() {
		want, o := states[name].want, w.get(w.kind, name)
		if want.blocks == "" && !want.frozen {
			continue
		}

		if strings.HasPrefix(name, "deleting") {
			if o != nil || w.deleted[name] != 1 || w.created[name] != 0 {
				w.Errorf("%s: answered, the object is there: %t, created %d, deleted %d", name, o != nil,
					w.created[name], w.deleted[name])
			}

			continue
		}

		created, updated := 0, 0

		switch {
		case want.empty:
			created = 1
		case want.frozen && name != "paused-late":
			updated = 1
		}

		if w.created[name] != created || w.updated[name] != updated ||
			!strings.HasPrefix(condition(o, "Ready"), "True") {
			w.Errorf("%s: answered, created %d, updated %d, Ready %s, Synced %s", name, w.created[name],
				w.updated[name], condition(o, "Ready"), condition(o, "Synced"))
		}
	}
}

// protected deletes configurations: they stay while they are used.
func (w *world) protected() {
	w.Helper()

	for _, kind := range w.configs {
		w.remove(kind, "main")
		w.remove(kind, "idle")
		w.gone(kind, "idle")

		if kind == w.used() {
			wait.Until(w, "the deletion of main is said to wait", func() bool {
				return strings.Contains(condition(w.get(kind, "main"), "Terminating"), "users")
			})
		}

		leaving := w.get(kind, "leaving")
		if leaving == nil || len(leaving.GetFinalizers()) == 0 {
			w.Fatalf("%s leaving is gone while it is used", kind)
		}

		w.remove(w.kind, "user-of-"+strings.ToLower(kind))
	}

	w.settle(sorted(w.all(w.kind))...)

	for _, kind := range w.configs {
		w.gone(kind, "leaving")
	}
}

// used is the kind of configuration that the objects use.
func (w *world) used() string { return w.configs[0] }

func (w *world) gone(kind, name string) {
	w.Helper()
	wait.Until(w, kind+" "+name+" is gone", func() bool { return w.get(kind, name) == nil })
}

// end deletes all objects: their resources go, but for those that are to stay, and then the configurations.
func (w *world) end() {
	w.Helper()

	if w.crossplane() {
		if o := w.get(w.used(), "main"); o == nil ||
			!slices.Equal(o.GetFinalizers(), []string{providerconfig.FinalizerName}) {
			w.Fatalf("main is %v", o)
		}
	}

	for name := range w.all(w.kind) {
		w.remove(w.kind, name)
	}

	names := sorted(w.all(w.kind))
	w.settle(names...)

	for _, name := range names {
		if o := w.get(w.kind, name); o != nil {
			w.Errorf("%s: the object is still there: %s", name, condition(o, "Synced"))
		}
	}

	var stay []string

	for name := range w.things {
		if !strings.Contains(name, "orphan") && !strings.HasPrefix(name, "observed") {
			stay = append(stay, name)
		}
	}

	if len(stay) > 0 {
		w.Errorf("these resources stay: %v", stay)
	}

	if w.crossplane() {
		w.gone(w.used(), "main")
	}
}
