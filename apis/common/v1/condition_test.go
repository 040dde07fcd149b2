package v1

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// identical makes cmp.Diff compare conditions field by field instead of by Condition.Equal.
func identical(want, got []Condition) string {
	type plain struct {
		Type, Status, Reason, Message string
		Time                          int64
		Generation                    int64
	}

	all := func(cs []Condition) []plain {
		out := make([]plain, 0, len(cs))
		for _, c := range cs {
			out = append(out, plain{
				Type: string(c.Type), Status: string(c.Status), Reason: string(c.Reason),
				Message: c.Message, Time: c.LastTransitionTime.Unix(), Generation: c.ObservedGeneration,
			})
		}

		return out
	}

	return cmp.Diff(all(want), all(got))
}

func TestConditionEqual(t *testing.T) {
	base := Condition{
		Type: TypeReady, Status: metav1.ConditionTrue, Reason: ReasonAvailable, Message: "m",
		LastTransitionTime: metav1.Unix(10, 0), ObservedGeneration: 3,
	}

	cases := map[string]struct {
		reason string
		change func(c *Condition)
		want   bool
	}{
		"Same": {reason: "Nothing differs.", change: func(*Condition) {}, want: true},
		"Time": {
			reason: "Times do not count.",
			change: func(c *Condition) { c.LastTransitionTime = metav1.Now() }, want: true,
		},
		"NoGeneration": {
			reason: "An unknown generation fits any.",
			change: func(c *Condition) { c.ObservedGeneration = 0 }, want: true,
		},
		"Generation": {
			reason: "Two known generations count.",
			change: func(c *Condition) { c.ObservedGeneration = 4 }, want: false,
		},
		"Type": {reason: "The type counts.", change: func(c *Condition) { c.Type = TypeSynced }, want: false},
		"Status": {
			reason: "The status counts.",
			change: func(c *Condition) { c.Status = metav1.ConditionFalse }, want: false,
		},
		"Reason": {
			reason: "The reason counts.", change: func(c *Condition) { c.Reason = ReasonCreating },
			want: false,
		},
		"Message": {reason: "The message counts.", change: func(c *Condition) { c.Message = "n" }, want: false},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := base
			tc.change(&other)

			if got := base.Equal(other); got != tc.want {
				t.Errorf("%s\nEqual(...) = %t, want %t", tc.reason, got, tc.want)
			}

			if base.Equal(other) != other.Equal(base) {
				t.Errorf("%s\nEqual(...) is not symmetric", tc.reason)
			}
		})
	}
}

func TestConstructors(t *testing.T) {
	began := time.Now()
	cases := map[string]struct {
		got  Condition
		want Condition
	}{
		"Available": {got: Available(), want: Condition{Type: "Ready", Status: "True", Reason: "Available"}},
		"Unavailable": {
			got:  Unavailable(),
			want: Condition{Type: "Ready", Status: "False", Reason: "Unavailable"},
		},
		"Creating": {got: Creating(), want: Condition{Type: "Ready", Status: "False", Reason: "Creating"}},
		"Deleting": {got: Deleting(), want: Condition{Type: "Ready", Status: "False", Reason: "Deleting"}},
		"ReconcileSuccess": {
			got:  ReconcileSuccess(),
			want: Condition{Type: "Synced", Status: "True", Reason: "ReconcileSuccess"},
		},
		"ReconcilePaused": {
			got:  ReconcilePaused(),
			want: Condition{Type: "Synced", Status: "False", Reason: "ReconcilePaused"},
		},
		"ReconcileError": {
			got:  ReconcileError(errors.New("boom")),
			want: Condition{Type: "Synced", Status: "False", Reason: "ReconcileError", Message: "boom"},
		},
		"ReconcileErrorNil": {
			got:  ReconcileError(nil),
			want: Condition{Type: "Synced", Status: "False", Reason: "ReconcileError"},
		},
		"WithMessage": {
			got:  Unavailable().WithMessage("no backend"),
			want: Condition{Type: "Ready", Status: "False", Reason: "Unavailable", Message: "no backend"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if at := tc.got.LastTransitionTime; at.Time.Before(began) || at.After(time.Now()) {
				t.Errorf("LastTransitionTime is %s, want the time of the call, after %s", at, began)
			}

			tc.want.LastTransitionTime = tc.got.LastTransitionTime
			if diff := identical([]Condition{tc.want}, []Condition{tc.got}); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

func TestConditionJSON(t *testing.T) {
	cases := map[string]struct {
		reason string
		c      Condition
		want   string
	}{
		"Short": {
			reason: "An object of the existing fleet reads and writes as before.",
			c: Condition{
				Type: TypeReady, Status: metav1.ConditionTrue, Reason: ReasonAvailable,
				LastTransitionTime: metav1.Unix(0, 0),
			},
			want: `{"type":"Ready","status":"True","lastTransitionTime":"1970-01-01T00:00:00Z","reason":"Available"}`,
		},
		"Full": {
			reason: "The added field has the name that all of Kubernetes uses.",
			c: Condition{
				Type: TypeReady, Status: metav1.ConditionTrue, Reason: ReasonAvailable,
				LastTransitionTime: metav1.Unix(0, 0),
				Message:            "m", ObservedGeneration: 7,
			},
			want: `{"type":"Ready","status":"True","lastTransitionTime":"1970-01-01T00:00:00Z","reason":"Available",` +
				`"message":"m","observedGeneration":7}`,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(tc.c)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
