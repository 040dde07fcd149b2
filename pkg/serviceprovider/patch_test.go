package serviceprovider

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		"RemovedByThem": {"somebody else did", []metav1.Condition{c("A", "a")}, []metav1.Condition{c("A", "a")}, nil,
			nil},
	}
	for name, tc := range cases {
		newest := append([]metav1.Condition(nil), tc.newest...)
		got := mergeConditions(tc.base, tc.mine, newest)
		if diff := cmp.Diff(
			tc.want, got, cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime"),
			cmpopts.EquateEmpty()); diff != "" {
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
		{0, 0, 0}, {0, time.Second, time.Second}, {time.Second, 0, time.Second},
		{time.Minute, time.Second, time.Second},
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
