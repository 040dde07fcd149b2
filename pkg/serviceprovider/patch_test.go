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

// TestMergeConditions verifies that our changes are merged into the newest conditions by type.
func TestMergeConditions(t *testing.T) {
	c := func(t, reason string) metav1.Condition {
		return metav1.Condition{Type: t, Status: metav1.ConditionTrue, Reason: reason}
	}
	cases := map[string]struct {
		reason                   string
		base, mine, newest, want []metav1.Condition
	}{
		"Nothing": {
			"we changed nothing", []metav1.Condition{c("A", "a")}, []metav1.Condition{c("A", "a")},
			[]metav1.Condition{c("A", "b")}, []metav1.Condition{c("A", "b")},
		},
		"Changed": {
			"we changed one", []metav1.Condition{c("A", "a")}, []metav1.Condition{c("A", "b")},
			[]metav1.Condition{c("A", "a"), c("B", "b")}, []metav1.Condition{c("A", "b"), c("B", "b")},
		},
		"ChangedByBoth": {
			"so did somebody else: we were last", []metav1.Condition{c("A", "a")}, []metav1.Condition{c("A", "b")},
			[]metav1.Condition{c("A", "c")}, []metav1.Condition{c("A", "b")},
		},
		"Added": {
			"we set one", nil, []metav1.Condition{c("A", "a")}, []metav1.Condition{c("B", "b")},
			[]metav1.Condition{c("B", "b"), c("A", "a")},
		},
		"Removed": {
			"we removed one", []metav1.Condition{c("A", "a"), c("B", "b")}, []metav1.Condition{c("B", "b")},
			[]metav1.Condition{c("A", "c"), c("B", "b")}, []metav1.Condition{c("B", "b")},
		},
		"RemovedByThem": {"somebody else did", []metav1.Condition{c("A", "a")}, []metav1.Condition{c("A", "a")}, nil, nil},
	}
	for name, tc := range cases {
		newest := append([]metav1.Condition(nil), tc.newest...)
		got := mergeConditions(tc.base, tc.mine, newest)
		if diff := cmp.Diff(
			tc.want, got, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s: -want, +got:\n%s", name, tc.reason, diff)
		}
		if diff := cmp.Diff(tc.newest, newest); diff != "" {
			t.Errorf("%s: the newest were changed in place: -want, +got:\n%s", name, diff)
		}
	}
}

// TestShorter verifies that zero means never.
func TestShorter(t *testing.T) {
	for _, tc := range []struct{ a, b, want time.Duration }{
		{0, 0, 0}, {0, time.Second, time.Second}, {time.Second, 0, time.Second}, {time.Minute, time.Second, time.Second},
		{time.Second, time.Minute, time.Second},
	} {
		if got := shorter(tc.a, tc.b); got != tc.want {
			t.Errorf("the sooner of %s and %s is %s", tc.a, tc.b, got)
		}
	}
}

// TestJoinErrors verifies that both errors are printed in order and found by errors.Is.
func TestJoinErrors(t *testing.T) {
	first, second := context.Canceled, external.Terminal("Quota", errors.New("too much"))
	if alone := joinErrors(nil, second); !errors.Is(alone, second) || alone.Error() != second.Error() {
		t.Errorf("of one error alone there is %v", alone)
	}
	all := joinErrors(first, second)
	if _, terminal := external.TerminalReason(all); !terminal || !errors.Is(all, first) ||
		all.Error() != first.Error()+"; "+second.Error() {
		t.Errorf("got %v", all)
	}
}

// TestObjectStates verifies that state belongs to one UID and is removed with the object.
func TestObjectStates(t *testing.T) {
	m, name := newObjectStates[Config](), types.NamespacedName{Namespace: "quay", Name: "a"}
	if _, is := m.lookup(name); is {
		t.Error("something is known of an object that was never seen")
	}
	first := m.ensure(name, "1")
	if _, used := m.lastConfig(name); used || m.ensure(name, "1") != first {
		t.Error("an object is forgotten, or uses what it was never given")
	}
	if m.setLastConfig(first, nil); !first.hasConfig {
		t.Error("what an object uses is not noted")
	}
	if _, used := m.lastConfig(name); !used {
		t.Error("what an object uses is not known")
	}
	if second := m.ensure(name, "2"); second == first || second.hasConfig {
		t.Error("another object of the name inherits what is known")
	}
	if seen, is := m.lookup(name); !is || seen.uid != "2" {
		t.Error("the object that is there is not known")
	}
	second := m.ensure(name, "2")
	m.setLastConfig(second, nil)
	m.markFinalizersRemoved(second)
	if _, used := m.lastConfig(name); used || !second.writtenAfter("7") {
		t.Error("an object that was let go uses something, or is read again")
	}
	if m.forget(name); len(m.objects) > 0 {
		t.Error("an object that is gone is not forgotten")
	}
	if _, is := m.lookup(name); is {
		t.Error("an object that is gone is known")
	}
	for version, want := range map[string]bool{"7": true, "8": false, "10": false, "x": false} {
		if got := (&objectState[Config]{writtenVersion: "8"}).writtenAfter(version); got != want {
			t.Errorf("version %q is behind: %t", version, got)
		}
	}
	if (&objectState[Config]{}).writtenAfter("7") {
		t.Error("a version is behind a write that was never made")
	}
}
