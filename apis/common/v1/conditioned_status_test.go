package v1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func at(sec, generation int64, c Condition) Condition {
	c.LastTransitionTime = metav1.Unix(sec, 0)
	c.ObservedGeneration = generation

	return c
}

func TestSetConditions(t *testing.T) {
	cases := map[string]struct {
		reason string
		stored []Condition
		set    []Condition
		want   []Condition
	}{
		"Append": {
			reason: "New types come in the order of the call.",
			set:    []Condition{at(1, 0, ReconcileSuccess()), at(2, 0, Creating())},
			want:   []Condition{at(1, 0, ReconcileSuccess()), at(2, 0, Creating())},
		},
		"ReplaceInPlace": {
			reason: "A condition keeps its place when its status changes, and the time moves.",
			stored: []Condition{at(1, 0, Creating()), at(1, 0, ReconcileSuccess())},
			set:    []Condition{at(5, 0, Available())},
			want:   []Condition{at(5, 0, Available()), at(1, 0, ReconcileSuccess())},
		},
		"Identical": {
			reason: "Saying the same again changes nothing.",
			stored: []Condition{at(1, 0, Available())},
			set:    []Condition{at(5, 0, Available())},
			want:   []Condition{at(1, 0, Available())},
		},
		"IdenticalGeneration": {
			reason: "The same of the same generation changes nothing.",
			stored: []Condition{at(1, 2, Available())},
			set:    []Condition{at(5, 2, Available())},
			want:   []Condition{at(1, 2, Available())},
		},
		"SameWithoutGeneration": {
			reason: "Who does not name a generation clears the stored one, so that it is stamped anew.",
			stored: []Condition{at(1, 2, Available())},
			set:    []Condition{at(5, 0, Available())},
			want:   []Condition{at(1, 0, Available())},
		},
		"SameWithFirstGeneration": {
			reason: "A generation that was not known before is not thrown away.",
			stored: []Condition{at(1, 0, Available())},
			set:    []Condition{at(5, 3, Available())},
			want:   []Condition{at(1, 3, Available())},
		},
		"NewGeneration": {
			reason: "The same of a newer generation is stored, and no transition.",
			stored: []Condition{at(1, 2, Available())},
			set:    []Condition{at(5, 3, Available())},
			want:   []Condition{at(1, 3, Available())},
		},
		"MessageOnly": {
			reason: "Another message is no transition.",
			stored: []Condition{at(1, 0, Unavailable().WithMessage("a"))},
			set:    []Condition{at(5, 0, Unavailable().WithMessage("b"))},
			want:   []Condition{at(1, 0, Unavailable().WithMessage("b"))},
		},
		"ReasonOnly": {
			reason: "Another reason for the same status is no transition.",
			stored: []Condition{at(1, 0, Creating())},
			set:    []Condition{at(5, 0, Deleting())},
			want:   []Condition{at(1, 0, Deleting())},
		},
		"LastOneWins": {
			reason: "Conditions are applied in the order of the call.",
			set:    []Condition{at(1, 0, Creating()), at(2, 0, Available())},
			want:   []Condition{at(2, 0, Available())},
		},
		"StoredWithoutTime": {
			reason: "A stored condition without a time takes that of the new one.",
			stored: []Condition{{Type: TypeReady, Status: metav1.ConditionFalse}},
			set:    []Condition{at(5, 0, Creating())},
			want:   []Condition{at(5, 0, Creating())},
		},
		"Nothing": {
			reason: "An empty call changes nothing.",
			stored: []Condition{at(1, 0, Creating())},
			want:   []Condition{at(1, 0, Creating())},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &ConditionedStatus{Conditions: tc.stored}
			s.SetConditions(tc.set...)

			if diff := identical(tc.want, s.Conditions); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSetConditionsFillsInTheTime(t *testing.T) {
	began := time.Now()
	s := NewConditionedStatus(Condition{Type: "Attached", Status: metav1.ConditionTrue, Reason: "InUse"})

	if at := s.Conditions[0].LastTransitionTime; at.Time.Before(began) || at.After(time.Now()) {
		t.Errorf("LastTransitionTime is %s, want the time of the call: a zero time cannot be stored", at)
	}

	s.SetConditions(Condition{Type: "Attached", Status: metav1.ConditionFalse, Reason: "Removed"})

	if s.Conditions[0].LastTransitionTime.IsZero() {
		t.Error("A condition that changed its status lost its time")
	}
}

func TestGetCondition(t *testing.T) {
	s := NewConditionedStatus(at(1, 4, Creating()))

	cases := map[string]struct {
		reason string
		ct     ConditionType
		want   Condition
	}{
		"Set": {reason: "A condition comes back as it was set.", ct: TypeReady, want: at(1, 4, Creating())},
		"Unset": {
			reason: "Nothing is known about a type never set.", ct: "Attached",
			want: Condition{Type: "Attached", Status: metav1.ConditionUnknown},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := s.GetCondition(tc.ct)
			if diff := identical([]Condition{tc.want}, []Condition{got}); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConditionedStatusEqual(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   *ConditionedStatus
		want   bool
	}{
		"Nil":    {reason: "Nothing equals nothing.", want: true},
		"OneNil": {reason: "Nothing differs from something.", a: NewConditionedStatus(), want: false},
		"Empty": {
			reason: "No conditions equal no conditions.", a: NewConditionedStatus(),
			b: NewConditionedStatus(), want: true,
		},
		"Order": {
			reason: "The order does not count.",
			a:      NewConditionedStatus(Creating(), ReconcileSuccess()),
			b:      NewConditionedStatus(ReconcileSuccess(), Creating()), want: true,
		},
		"Length": {
			reason: "One more differs.", a: NewConditionedStatus(Creating()),
			b: NewConditionedStatus(Creating(), ReconcileSuccess()), want: false,
		},
		"Different": {
			reason: "Another reason differs.", a: NewConditionedStatus(Creating()),
			b: NewConditionedStatus(Deleting()), want: false,
		},
		"OtherType": {
			reason: "Another type differs.", a: NewConditionedStatus(Creating()),
			b: NewConditionedStatus(ReconcileSuccess()), want: false,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.Equal(tc.b); got != tc.want {
				t.Errorf("%s\nEqual(...) = %t, want %t", tc.reason, got, tc.want)
			}

			if got := tc.b.Equal(tc.a); got != tc.want {
				t.Errorf("%s\nEqual(...) the other way = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestDeepCopyIsIndependent(t *testing.T) {
	s := NewConditionedStatus(at(1, 0, Creating()))
	c := s.DeepCopy()
	c.SetConditions(at(2, 0, Available()))

	if diff := identical([]Condition{at(1, 0, Creating())}, s.Conditions); diff != "" {
		t.Errorf("Changing the copy changed the original: -want, +got:\n%s", diff)
	}

	creds := &CredentialSelectors{Env: &EnvSelector{Name: "TOKEN"}, SecretRef: &SecretKeySelector{Key: "k"}}
	other := creds.DeepCopy()
	other.Env.Name, other.SecretRef.Key = "X", "Y"

	if diff := cmp.Diff(&CredentialSelectors{
		Env: &EnvSelector{Name: "TOKEN"}, SecretRef: &SecretKeySelector{Key: "k"},
	}, creds); diff != "" {
		t.Errorf("Changing the copy changed the original: -want, +got:\n%s", diff)
	}
}
