package objectstate

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestParseCreationRef(t *testing.T) {
	for _, ref := range []CreationRef{{"0badcafe/succeeded", "vol-1"}, {"2026-01-01T00:00:00Z", ""},
		{"a", "x of \"y\"\n"}} {
		if got := ParseCreationRef(ref.String()); got != ref {
			t.Errorf("%q is read as %v", ref, got)
		}
	}
	for _, text := range []string{"", "0badcafe", "0badcafe of vol-1", ` of "vol-1"`, "0badcafe of \"vol-1",
		"the password of \"root\" is \"x\""} {
		if got := ParseCreationRef(text); got != (CreationRef{}) {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

func TestCreationRefMatchesCondition(t *testing.T) {
	ref := CreationRef{"0badcafe/succeeded", `vol "1"`}
	cases := []struct {
		reason, text   string
		creation, name bool
	}{
		{"its own text", ref.String(), true, true},
		{"another name of the same creation", CreationRef{ref.Mark, "vol-2"}.String(), true, false},
		{"another creation", CreationRef{"0badcafe/failed", ref.Name}.String(), false, false},
		{"the mark alone", ref.Mark, false, false},
		{"nothing", "", false, false},
		{"a text that goes on", ref.String() + "!", true, false},
	}
	for _, tc := range cases {
		creation, name := ref.MatchesCondition(tc.text)
		if creation != tc.creation || name != tc.name || ref.Is(tc.text) != tc.name {
			t.Errorf("%s: creation %t, name %t, want %t, %t", tc.reason, creation, name, tc.creation, tc.name)
		}
	}
}

// TestEveryFieldIsDecided verifies that each field is classified: whether it can make a difference to later
// decisions. A new field has to be classified as well.
func TestEveryFieldIsDecided(t *testing.T) {
	ignored := []string{
		// they only influence when a pass is made, or which object is read first
		"Version", "Known", "Failed", "Gone", "TriedIntent", "Changed", "Backoffs", "Unchanged", "Conflicts",
		// used only in messages, or to suppress repeated ones
		"HadFinalizer", "NoLeftover", "LeftoverName",
		"Answered", "Reworded.Of", "Reworded.Since", "Reworded.Count", "UnknownCreateErr", "LastWarnings",
		"LastDisconnectErr", "LastStatusErr", "LastReverted", "LastBadInterval", "VolatileWritten", "Written",
		// the delay of a retry
		"Dropped.Times", "Dropped.Until",
		// determined by the attempt
		"Called.Pending", "Called.Before",
		// versions are compared with those of the object, which are in no fingerprint
		"Stop.Version",
	}
	nothing := (&Record{Cold: &Cold{}}).Significant(roles)
	eachFieldSet(func(path string, r Record) {
		differs := r.Significant(roles) != nothing
		if differs == slices.Contains(ignored, path) {
			t.Errorf("%s: makes a difference: %t; that was not decided, or otherwise", path, differs)
		}
		ignored = slices.DeleteFunc(ignored, func(s string) bool { return s == path })
	})
	if len(ignored) > 0 {
		t.Errorf("no fields, or not filled: %v", ignored)
	}
	if (&Record{}).Significant(roles) != nothing {
		t.Error("a cold part that says nothing makes a difference")
	}
}

// TestCloneSharesNothing verifies that a change in a copy, at any depth, does not change the original, and that the
// copy is complete.
func TestCloneSharesNothing(t *testing.T) {
	eachFieldSet(func(path string, r Record) {
		c := r.Clone()
		if diff := cmp.Diff(r, c); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		if r.Cold == c.Cold {
			t.Errorf("%s: the cold part is shared", path)
		}
		for _, m := range c.Written {
			m[0] = "another"
		}
		for _, m := range []map[string]string{c.LastWarnings, c.Unwritten} {
			for key := range m {
				m[key] = "another"
			}
		}
		for key := range c.Undelivered {
			c.Undelivered[key] = []byte("another")
		}
		for i := range c.Uncalled {
			c.Uncalled[i].Attempt = "another"
		}
		if path == "Uncalled" && r.Uncalled[0].Attempt != "a" || path == "Written" && r.Written["a"][0] != "a" ||
			path == "LastWarnings" && r.LastWarnings["a"] != "a" ||
			path == "Unwritten" && r.Unwritten["a"] != "a" ||
			path == "Undelivered" && string(r.Undelivered["a"]) != "a" {
			t.Errorf("%s is shared", path)
		}
	})
}

// TestSnapshotCanBeRestoredAgain verifies that a snapshot does not change after a restore.
func TestSnapshotCanBeRestoredAgain(t *testing.T) {
	key := Key{types.NamespacedName{Namespace: "a", Name: "x"}, "uid-1"}
	k := keeper{key: {State: State{Object: Object{Version: "7"}}, Written: map[string][]string{"a": {"a"}}}}
	h := Handle{&k}
	shot := h.Snapshot()
	for range 2 {
		k[key].Written["a"][0] = "another"
		delete(k, key)
		h.Restore(shot)
		if r := k[key]; r.Version != "7" || r.Written["a"][0] != "a" {
			t.Errorf("restored %+v", r)
		}
	}
	var zero Handle
	if zero.Restore(shot); len(zero.Snapshot()) != 0 {
		t.Error("the zero value remembers something")
	}
}

type keeper map[Key]Record

func (k *keeper) Records(visit func(Key, Record)) {
	for key, r := range *k {
		visit(key, r)
	}
}

func (k *keeper) Replace(with map[Key]Record) { *k = with }

func roles(text string) uint64 { return uint64(len(text)) }

// eachFieldSet calls visit with records, in each of which one field is set.
func eachFieldSet(visit func(path string, r Record)) {
	var walk func(path string, index []int, of reflect.Type)
	walk = func(path string, index []int, of reflect.Type) {
		for i := range of.NumField() {
			f, at := of.Field(i), append(slices.Clone(index), i)
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			switch {
			case f.Anonymous:
				walk(path, at, inner)
			case inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]() &&
				inner != reflect.TypeFor[UserIntent]():
				walk(f.Name+".", at, inner)
			default:
				r := Record{Cold: &Cold{}}
				fill(reflect.ValueOf(&r).Elem().FieldByIndex(at))
				visit(path+f.Name, r)
			}
		}
	}
	walk("", nil, reflect.TypeFor[Record]())
}

// fill sets a value.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1, 0)))

		return
	case map[string]string:
		v.Set(reflect.ValueOf(map[string]string{"a": "a"}))

		return
	case map[string][]byte:
		v.Set(reflect.ValueOf(map[string][]byte{"a": []byte("a")}))

		return
	case map[string][]string:
		v.Set(reflect.ValueOf(map[string][]string{"a": {"a"}}))

		return
	case *string:
		v.Set(reflect.ValueOf(new("a")))

		return
	case [32]byte:
		v.Set(reflect.ValueOf([32]byte{1}))

		return
	case []Intent:
		v.Set(reflect.ValueOf([]Intent{{Pending: "a", Attempt: "a", Before: "a"}}))

		return
	case UserIntent:
		v.Set(reflect.ValueOf(UserIntent{Generation: 1}))

		return
	}
	switch v.Kind() { //nolint:exhaustive // no field is of another kind; if one were, the test of fields would say so
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("a")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	}
}
