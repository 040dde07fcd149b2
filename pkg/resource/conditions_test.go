package resource_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

var (
	then = metav1.NewTime(time.Unix(100, 0))
	now  = metav1.NewTime(time.Unix(200, 0))
)

// at returns a condition with a time and a message.
func at(t metav1.Time, c commonv1.Condition, message string) commonv1.Condition {
	c.LastTransitionTime = t

	return c.WithMessage(message)
}

func TestConditions(t *testing.T) {
	stored := resource.Conditions{at(then, commonv1.Creating(), "soon"), at(then, commonv1.ReconcileSuccess(), "")}

	cases := map[string]struct {
		reason string
		change func(cs *resource.Conditions)
		want   resource.Conditions
	}{
		"Upsert": {
			reason: "A condition takes the place of the one of its type.",
			change: func(cs *resource.Conditions) { cs.UpsertCondition(at(now, commonv1.Available(), "")) },
			want:   resource.Conditions{at(now, commonv1.Available(), ""), stored[1]},
		},
		"UpsertNew": {
			reason: "One of another type goes to the end.",
			change: func(cs *resource.Conditions) {
				cs.UpsertCondition(at(now, commonv1.Condition{Type: "Attached"},
					""))
			},
			want: resource.Conditions{stored[0], stored[1], at(now, commonv1.Condition{Type: "Attached"}, "")},
		},
		"UpsertOtherMessage": {
			reason: "Another message is no transition.",
			change: func(cs *resource.Conditions) { cs.UpsertCondition(at(now, commonv1.Creating(), "later")) },
			want:   resource.Conditions{at(then, commonv1.Creating(), "later"), stored[1]},
		},
		"UpsertOtherReason": {
			reason: "Nor is another reason.",
			change: func(cs *resource.Conditions) { cs.UpsertCondition(at(now, commonv1.Deleting(), "")) },
			want:   resource.Conditions{at(then, commonv1.Deleting(), ""), stored[1]},
		},
		"Message": {
			reason: "A message is added to the one there is, and nothing else changes.",
			change: func(cs *resource.Conditions) {
				cs.UpsertConditionMessage(at(now, commonv1.Available(),
					"really"))
			},
			want: resource.Conditions{at(then, commonv1.Creating(), "soon, really"), stored[1]},
		},
		"MessageAgain": {
			reason: "Saying it again does not make it longer.",
			change: func(cs *resource.Conditions) {
				for range 3 {
					cs.UpsertConditionMessage(commonv1.Creating().WithMessage("soon"))
					cs.UpsertConditionMessage(commonv1.Creating().WithMessage("really"))
				}
			},
			want: resource.Conditions{at(then, commonv1.Creating(), "soon, really"), stored[1]},
		},
		"MessagePart": {
			reason: "A word in the middle of another message was not said.",
			change: func(cs *resource.Conditions) { cs.UpsertConditionMessage(commonv1.Creating().WithMessage("so")) },
			want:   resource.Conditions{at(then, commonv1.Creating(), "soon, so"), stored[1]},
		},
		"MessageFirst": {
			reason: "The first message has no comma before it.",
			change: func(cs *resource.Conditions) {
				cs.UpsertConditionMessage(commonv1.ReconcileSuccess().WithMessage("all well"))
			},
			want: resource.Conditions{stored[0], at(then, commonv1.ReconcileSuccess(), "all well")},
		},
		"MessageNone": {
			reason: "Nothing said adds nothing.",
			change: func(cs *resource.Conditions) { cs.UpsertConditionMessage(commonv1.Creating()) },
			want:   stored,
		},
		"MessageNew": {
			reason: "Without a condition of the type it is added whole.",
			change: func(cs *resource.Conditions) {
				cs.UpsertConditionMessage(at(now, commonv1.Condition{Type: "Attached"}, "more"))
			},
			want: resource.Conditions{stored[0], stored[1], at(now, commonv1.Condition{Type: "Attached"}, "more")},
		},
		"Join": {
			reason: "Each of the others is upserted.",
			change: func(cs *resource.Conditions) {
				cs.JoinConditions(&resource.Conditions{at(now, commonv1.Available(), ""),
					at(now, commonv1.Condition{Type: "Attached"}, "")})
			},
			want: resource.Conditions{at(now, commonv1.Available(), ""), stored[1],
				at(now, commonv1.Condition{Type: "Attached"}, "")},
		},
		"JoinNil": {
			reason: "Nothing to join changes nothing.",
			change: func(cs *resource.Conditions) { cs.JoinConditions(nil) },
			want:   stored,
		},
		"Remove": {
			reason: "The others stay.",
			change: func(cs *resource.Conditions) { cs.RemoveCondition(commonv1.TypeReady) },
			want:   resource.Conditions{stored[1]},
		},
		"RemoveUnknown": {
			reason: "There is nothing to remove.",
			change: func(cs *resource.Conditions) { cs.RemoveCondition("Attached") },
			want:   stored,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			shared := append(make(resource.Conditions, 0, 8), stored...) // with free capacity that an append would write into
			cs := shared
			tc.change(&cs)

			if diff := cmp.Diff(tc.want, cs); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(stored, shared); diff != "" {
				t.Errorf("The list that shares its memory changed.\n-want, +got:\n%s", diff)
			}
			if diff := cmp.Diff(commonv1.Condition{}, shared[:3][2]); diff != "" {
				t.Errorf("The spare room of that list was written into.\n-want, +got:\n%s", diff)
			}
		})
	}
}

func TestConditionsFromNothing(t *testing.T) {
	var cs resource.Conditions

	if cs.DeepCopy() != nil {
		t.Error("A copy of nothing is something")
	}

	cs.RemoveCondition(commonv1.TypeReady)
	cs.UpsertCondition(commonv1.Available())
	copied := cs.DeepCopy()
	copied[0].Message = "changed"

	if len(cs) != 1 || cs[0].Message != "" || cs[0].LastTransitionTime.IsZero() {
		t.Errorf("want one condition with a time and without a message, got %v", cs)
	}
}
