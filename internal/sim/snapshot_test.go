package sim

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// reachable returns a field that cannot be copied by its name, because that is not exported.
func reachable(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}

// fillValue sets every field of this package behind a value.
func fillValue(v reflect.Value, depth int) {
	if !v.CanSet() {
		v = reachable(v)
	}
	switch v.Kind() { //nolint:exhaustive // the others lead nowhere, or to what does not change
	case reflect.Struct:
		for i := range v.NumField() {
			if depth < 5 && v.Type() != timeType {
				fillValue(v.Field(i), depth+1)
			}
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillValue(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillValue(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillValue(v.Index(0), depth+1)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("seven")
	}
}

// sharedPaths returns what two equal values share, or where they differ.
func sharedPaths(a, b reflect.Value, path string, known map[string]bool) (out []string) {
	if known[path] {
		return nil
	}
	switch a.Kind() { //nolint:exhaustive // the others lead nowhere
	case reflect.Struct:
		for i := range a.NumField() {
			out = append(out, sharedPaths(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name, known)...)
		}
	case reflect.Map, reflect.Pointer, reflect.Slice:
		switch {
		case a.IsNil() && b.IsNil():
		case b.IsNil():
			out = append(out, path+" is forgotten")
		case a.Pointer() == b.Pointer():
			out = append(out, path+" is shared")
		case a.Kind() == reflect.Pointer:
			out = sharedPaths(a.Elem(), b.Elem(), path, known)
		case a.Len() == 0: // of a field that was not filled
		case b.Len() == 0:
			out = append(out, path+" is forgotten")
		case a.Kind() == reflect.Slice:
			out = sharedPaths(a.Index(0), b.Index(0), path+"[]", known)
		default:
			key := a.MapKeys()[0]
			out = sharedPaths(a.MapIndex(key), b.MapIndex(key), path+"[]", known)
		}
	case reflect.Int, reflect.Int64, reflect.Bool, reflect.String:
		if fmt.Sprint(a) != fmt.Sprint(b) {
			out = append(out, path+" is another")
		}
	}

	return out
}

// TestSnapshotsShareNothing checks that a copy of a part of the world has everything that the original has, and shares
// nothing with it.
func TestSnapshotsShareNothing(t *testing.T) {
	s, actions, h, q, u := state{}, userActions{}, extSystem{}, queue{}, turns{}
	for _, v := range []any{&s, &actions, &h, &q, &u} {
		fillValue(reflect.ValueOf(v).Elem(), 0)
	}
	c := *newCache(shared.newWorld(Config{Scheme: theScheme()}, nil).server, Config{}.gvk(), 7, 0)
	known := map[string]bool{
		"system.subscribed":   true, // unused in a world of which snapshots are taken
		"system.class":        true, // never changes
		"actions.manifests[]": true, // what is given later is put into a list of its own
		"cache.server":        true, // is that of the world
	}
	for name, of := range map[string][2]any{
		"state": {s, s.clone()}, "actions": {actions, actions.clone()}, "system": {h, h.clone()},
		"cache": {c, *c.clone()}, "queue": {q, *q.clone()}, "turns": {u, u.clone()},
	} {
		for _, why := range sharedPaths(reflect.ValueOf(of[0]), reflect.ValueOf(of[1]), name, known) {
			t.Error(why)
		}
	}
}

// TestSnapshotIsComplete checks that for each field of a reconciler, a process and a world it is decided whether passes
// change it, so that a snapshot has to contain it. A new field has to be added here.
func TestSnapshotIsComplete(t *testing.T) {
	for of, decided := range map[reflect.Type][]string{
		reflect.TypeFor[managed.Reconciler](): {
			"objects", // is in the snapshot
			// is set when it is made: what options set, by the parts of config, and the rest
			"connecter", "fence", "lease", "bulk", "staleness", "notifier",
			"timeout", "pollInterval", "minPollInterval", "pollIntervalHook", "watchedPollInterval", "grace",
			"volatileInterval", "spread",
			"named", "tokens", "strictCreateErrors", "detailsOfCreation", "recreateOnRequest", "restoreElsewhere",
			"adoption", "adoptionPolicy", "allowedAdoptionPolicies",
			"initializers", "resolver", "publisher", "secretType", "finalizer", "critical", "supported", "guards",
			"ignoredFinalizers", "predecessors", "retired", "volatile", "kstatus",
			"log", "recorder", "warningRecorder", "changes", "provider", "providerVersion", "observability",
			"cluster", "watches", "unchecked", "states", "clock", "random",
			"of", "empty", "deletionPolicy", "client", "createdAt", "elected", "invalid",
			// are unused, or do not matter, in a world of which snapshots are taken
			"graph", "tracker", "watching", "restores", "calls", "inFlight", "stopRestoreWatch", "limits", "lists", "waker",
			"pruned", "telemetry", "pace", "createErrorLog", "planner", "inspected",
		},
		reflect.TypeFor[process](): {
			"number", "began", "clock", "dead", "cache", "queue", "turns", "knowledge", "states",
			"read", "wrote", "attempts", "unanswered", "unstored",
			"mutations", "raceDeleted", "attempted", "details", "asksSecret",
			"order", "generation", // are in the snapshot
			"world", "ctx", "cancel", "reconcile", "watches", "meters", "detector", "requests", "controller",
			"subscribe", "referents", // are made anew
			"inProgress", "active", "held", "stopping", "by", "asked", "deposed", "renewed", "excused", "done",
			"outdated", "leaving", "left", "restore", // are nothing when one is taken
		},
		reflect.TypeFor[World](): {
			"state", "Rand", "source", "processes", // are in the snapshot
			"config", "server", "users", "sinks", "began",
			"faults", "count", "refusals", "leaksSecrets", "restores", "blocksCalls", "setsClockBack",
			"scenario", "begins", "diverged", "phase", "resting", "expect", "guided", // are set by the scenario
			"external", "system", "verbose", "forms", "shortest", "pace", "patient", "planning",
			"events", "over", "trace", "trail", // are nothing when one is taken, or begin anew
		},
	} {
		has := leaves(of, decided)
		for _, name := range has {
			if !slices.Contains(decided, name) {
				t.Errorf("it was not decided whether a snapshot contains %s of %s", name, of)
			}
		}
		for _, name := range decided {
			if !slices.Contains(has, name) {
				t.Errorf("it was decided whether a snapshot contains %s of %s, which has no such field", name, of)
			}
		}
	}
}

// leaves returns the names of the fields of a struct. Of a struct that was not decided as a whole it returns those of
// its fields instead.
func leaves(of reflect.Type, decided []string) (names []string) {
	for field := range of.Fields() {
		if field.Type.Kind() == reflect.Struct && !slices.Contains(decided, field.Name) {
			names = append(names, leaves(field.Type, decided)...)
		} else {
			names = append(names, field.Name)
		}
	}

	return names
}
