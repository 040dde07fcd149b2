package conditions

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// exactly makes cmp.Diff compare every field instead of calling Condition.Equal.
func exactly() cmp.Option {
	return cmp.Comparer(func(a, b commonv1.Condition) bool { return same(a, b) })
}

func cond(t commonv1.ConditionType, status metav1.ConditionStatus, reason commonv1.ConditionReason,
	sec, generation int64) commonv1.Condition {
	return commonv1.Condition{
		Type: t, Status: status, Reason: reason, LastTransitionTime: metav1.Unix(sec, 0),
		ObservedGeneration: generation,
	}
}

func TestStamp(t *testing.T) {
	cases := map[string]struct {
		reason     string
		stored     []commonv1.Condition
		generation int64
		types      []commonv1.ConditionType
		want       []commonv1.Condition
	}{
		"Unstamped": {
			reason: "A condition without a stamp gets it, and nothing else changes.",
			stored: []commonv1.Condition{cond("A", "True", "X", 1, 0)}, generation: 5,
			types: []commonv1.ConditionType{"A"},
			want:  []commonv1.Condition{cond("A", "True", "X", 1, 5)},
		},
		"Stamped": {
			reason: "A stamp says of which generation somebody spoke, and stays.",
			stored: []commonv1.Condition{cond("A", "True", "X", 1, 4)}, generation: 5,
			types: []commonv1.ConditionType{"A"},
			want:  []commonv1.Condition{cond("A", "True", "X", 1, 4)},
		},
		"OtherType": {
			reason: "Conditions of other writers are theirs.",
			stored: []commonv1.Condition{cond("A", "True", "X", 1, 0), cond("B", "True", "X", 1, 0)}, generation: 5,
			types: []commonv1.ConditionType{"B"},
			want:  []commonv1.Condition{cond("A", "True", "X", 1, 0), cond("B", "True", "X", 1, 5)},
		},
		"NeverSet": {
			reason:     "A condition that nobody set does not come into being.",
			generation: 5, types: []commonv1.ConditionType{"A"},
		},
		"SetUnknown": {
			reason: "One that was set to Unknown is set.",
			stored: []commonv1.Condition{cond("A", "Unknown", "X", 1, 0)}, generation: 5,
			types: []commonv1.ConditionType{"A"},
			want:  []commonv1.Condition{cond("A", "Unknown", "X", 1, 5)},
		},
		"NoGeneration": {
			reason: "An object without generations leaves no stamp.",
			stored: []commonv1.Condition{cond("A", "True", "X", 1, 0)}, types: []commonv1.ConditionType{"A"},
			want: []commonv1.Condition{cond("A", "True", "X", 1, 0)},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &commonv1.ConditionedStatus{Conditions: tc.stored}
			Stamp(s, tc.generation, tc.types...)

			if diff := cmp.Diff(tc.want, s.Conditions, exactly()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	type list = []commonv1.Condition

	cases := map[string]struct {
		reason             string
		base, mine, newest list
		want               list
	}{
		"Changed": {
			reason: "My change is put on what others changed.",
			base:   list{cond("A", "False", "X", 1, 0), cond("B", "False", "X", 1, 0)},
			mine:   list{cond("A", "True", "Y", 2, 0), cond("B", "False", "X", 1, 0)},
			newest: list{cond("A", "False", "X", 1, 0), cond("B", "True", "Z", 3, 0)},
			want:   list{cond("A", "True", "Y", 2, 0), cond("B", "True", "Z", 3, 0)},
		},
		"ChangedByBoth": {
			reason: "What both changed is mine: I speak last.",
			base:   list{cond("A", "False", "X", 1, 0)},
			mine:   list{cond("A", "True", "Y", 2, 0)},
			newest: list{cond("A", "Unknown", "Z", 3, 0)},
			want:   list{cond("A", "True", "Y", 2, 0)},
		},
		"SameTransition": {
			reason: "Somebody was first: the status changed when he said so.",
			base:   list{cond("A", "False", "X", 1, 0)},
			mine:   list{cond("A", "True", "Y", 4, 0)},
			newest: list{cond("A", "True", "Z", 3, 0)},
			want:   list{cond("A", "True", "Y", 3, 0)},
		},
		"StampOnly": {
			reason: "A new stamp is a change.",
			base:   list{cond("A", "True", "X", 1, 1)},
			mine:   list{cond("A", "True", "X", 1, 2)},
			newest: list{cond("A", "True", "X", 1, 1)},
			want:   list{cond("A", "True", "X", 1, 2)},
		},
		"AddedByMe": {
			reason: "What I added comes last, in my order.",
			mine:   list{cond("B", "True", "X", 1, 0), cond("A", "True", "X", 1, 0)},
			newest: list{cond("C", "True", "X", 1, 0)},
			want:   list{cond("C", "True", "X", 1, 0), cond("B", "True", "X", 1, 0), cond("A", "True", "X", 1, 0)},
		},
		"AddedByOthers": {
			reason: "What others added stays.",
			newest: list{cond("C", "True", "X", 1, 0)},
			want:   list{cond("C", "True", "X", 1, 0)},
		},
		"RemovedByMe": {
			reason: "What I removed goes, whatever others made of it.",
			base:   list{cond("A", "True", "X", 1, 0)},
			newest: list{cond("A", "False", "Y", 2, 0), cond("B", "True", "X", 1, 0)},
			want:   list{cond("B", "True", "X", 1, 0)},
		},
		"RemovedByOthers": {
			reason: "What others removed does not come back if I left it as it was.",
			base:   list{cond("A", "True", "X", 1, 0)},
			mine:   list{cond("A", "True", "X", 1, 0)},
		},
		"RemovedByOthersChangedByMe": {
			reason: "If I changed it, it does.",
			base:   list{cond("A", "True", "X", 1, 0)},
			mine:   list{cond("A", "False", "Y", 2, 0)},
			want:   list{cond("A", "False", "Y", 2, 0)},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Merge(tc.base, tc.mine, tc.newest)
			if len(got) == 0 {
				got = nil
			}

			if diff := cmp.Diff(tc.want, got, exactly()); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMergeInvariants tries all lists of two types, each absent or one of two variants, as base, mine and newest.
func TestMergeInvariants(t *testing.T) {
	var lists [][]commonv1.Condition

	for a := range 3 {
		for b := range 3 {
			var l []commonv1.Condition
			for i, t := range []commonv1.ConditionType{"A", "B"} {
				switch []int{a, b}[i] {
				case 1:
					l = append(l, cond(t, "False", "X", 1, 1))
				case 2:
					l = append(l, cond(t, "True", "Y", 2, 2))
				}
			}

			lists = append(lists, l)
		}
	}

	for _, base := range lists {
		for _, mine := range lists {
			for _, newest := range lists {
				before := fmt.Sprint(base, mine, newest)
				got := Merge(base, mine, newest)

				if after := fmt.Sprint(base, mine, newest); before != after {
					t.Fatalf("An argument changed: %s, before %s", after, before)
				}

				for _, ct := range []commonv1.ConditionType{"A", "B"} {
					want := described(newest, ct)
					if described(mine, ct) != described(base, ct) {
						want = described(mine, ct)
					}

					if g := described(got, ct); g != want {
						t.Errorf("base %v, mine %v, newest %v: %s is %q, want %q", base, mine, newest, ct, g, want)
					}
				}

				if again := Merge(base, mine, got); !slices.EqualFunc(again, got, same) {
					t.Errorf("base %v, mine %v, newest %v: a second time gives %v after %v", base, mine, newest,
						again, got)
				}
			}
		}
	}
}

func described(cs []commonv1.Condition, t commonv1.ConditionType) string {
	i := slices.IndexFunc(cs, func(c commonv1.Condition) bool { return c.Type == t })
	if i < 0 {
		return "absent"
	}
	c := cs[i]

	return fmt.Sprint(c.Status, c.Reason, c.ObservedGeneration)
}
