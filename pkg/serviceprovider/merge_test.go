package serviceprovider

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/external"
)

// Our changes are put on the newest conditions type by type; those of others stay.
func TestMergeConditions(t *testing.T) {
	c := func(t, reason string) metav1.Condition {
		return metav1.Condition{Type: t, Status: metav1.ConditionTrue, Reason: reason}
	}
	cases := map[string]struct {
		reason                   string
		base, mine, newest, want []metav1.Condition
	}{
		"Nothing":       {"we changed nothing", []metav1.Condition{c("A", "a")}, []metav1.Condition{c("A", "a")}, []metav1.Condition{c("A", "b")}, []metav1.Condition{c("A", "b")}},
		"Changed":       {"we changed one", []metav1.Condition{c("A", "a")}, []metav1.Condition{c("A", "b")}, []metav1.Condition{c("A", "a"), c("B", "b")}, []metav1.Condition{c("A", "b"), c("B", "b")}},
		"ChangedByBoth": {"so did somebody else: we were last", []metav1.Condition{c("A", "a")}, []metav1.Condition{c("A", "b")}, []metav1.Condition{c("A", "c")}, []metav1.Condition{c("A", "b")}},
		"Added":         {"we set one", nil, []metav1.Condition{c("A", "a")}, []metav1.Condition{c("B", "b")}, []metav1.Condition{c("B", "b"), c("A", "a")}},
		"Removed":       {"we removed one", []metav1.Condition{c("A", "a"), c("B", "b")}, []metav1.Condition{c("B", "b")}, []metav1.Condition{c("A", "c"), c("B", "b")}, []metav1.Condition{c("B", "b")}},
		"RemovedByThem": {"somebody else did", []metav1.Condition{c("A", "a")}, []metav1.Condition{c("A", "a")}, nil, nil},
	}
	for name, tc := range cases {
		newest := append([]metav1.Condition(nil), tc.newest...)
		got := mergeConditions(tc.base, tc.mine, newest)
		if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s: -want, +got:\n%s", name, tc.reason, diff)
		}
		if diff := cmp.Diff(tc.newest, newest); diff != "" {
			t.Errorf("%s: the newest were changed in place: -want, +got:\n%s", name, diff)
		}
	}
}

// Never is later than everything.
func TestSooner(t *testing.T) {
	for _, tc := range []struct{ a, b, want time.Duration }{{0, 0, 0}, {0, time.Second, time.Second}, {time.Second, 0, time.Second}, {time.Minute, time.Second, time.Second}, {time.Second, time.Minute, time.Second}} {
		if got := earlier(tc.a, tc.b); got != tc.want {
			t.Errorf("the sooner of %s and %s is %s", tc.a, tc.b, got)
		}
	}
}

// Of two errors both are told, in order, and both are found.
func TestJoin(t *testing.T) {
	first, second := context.Canceled, external.Terminal("Quota", errors.New("too much"))
	if alone := join(nil, second); !errors.Is(alone, second) || alone.Error() != second.Error() {
		t.Errorf("of one error alone there is %v", alone)
	}
	all := join(first, second)
	if _, terminal := external.TerminalReason(all); !terminal || !errors.Is(all, first) || all.Error() != first.Error()+"; "+second.Error() {
		t.Errorf("got %v", all)
	}
}

// What is known of an object is not that of another of its name, and goes with it.
func TestMemoryOfObjects(t *testing.T) {
	m, name := newMemory[Config](), types.NamespacedName{Namespace: "quay", Name: "a"}
	if _, is := m.peek(name); is {
		t.Error("something is known of an object that was never seen")
	}
	first := m.of(name, "1")
	if _, used := m.used(name); used || m.of(name, "1") != first {
		t.Error("an object is forgotten, or uses what it was never given")
	}
	if m.use(first, nil); !first.configured {
		t.Error("what an object uses is not noted")
	}
	if _, used := m.used(name); !used {
		t.Error("what an object uses is not known")
	}
	if second := m.of(name, "2"); second == first || second.configured {
		t.Error("another object of the name inherits what is known")
	}
	if seen, is := m.peek(name); !is || seen.uid != "2" {
		t.Error("the object that is there is not known")
	}
	second := m.of(name, "2")
	m.use(second, nil)
	m.end(second)
	if _, used := m.used(name); used || !second.ahead("7") {
		t.Error("an object that was let go uses something, or is read again")
	}
	if m.forget(name); len(m.objects) > 0 {
		t.Error("an object that is gone is not forgotten")
	}
	if _, is := m.peek(name); is {
		t.Error("an object that is gone is known")
	}
	for version, want := range map[string]bool{"7": true, "8": false, "10": false, "x": false} {
		if got := (&record[Config]{version: "8"}).ahead(version); got != want {
			t.Errorf("version %q is behind: %t", version, got)
		}
	}
	if (&record[Config]{}).ahead("7") {
		t.Error("a version is behind a write that was never made")
	}
}
