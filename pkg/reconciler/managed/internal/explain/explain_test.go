package explain

import (
	"reflect"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// states is the number of states of each type of a fact that is neither true nor false.
var states = map[string]int{
	"Object": int(lifecycle.Deleted) + 1, "CreateClass": int(lifecycle.Findable) + 1,
	"Attempt": int(lifecycle.Superseded) + 1, "Change": int(lifecycle.Mutated) + 1,
	"Presence": int(lifecycle.Present) + 1, "Doubt": int(lifecycle.Unconfirmed) + 1,
	"Ownership": int(lifecycle.Foreign) + 1, "Metadata": int(lifecycle.SettlesCreate) + 1,
	"Reading": int(lifecycle.DeletedButCached) + 1, "Stop": int(lifecycle.CauseUnchanged) + 1,
	"StatusWrite": int(lifecycle.StatusFenced) + 1,
}

// everyCombination calls visit with each combination of the facts F, whose fields are flags and states.
func everyCombination[F any](t *testing.T, visit func(F)) {
	t.Helper()
	var facts F
	value := reflect.ValueOf(&facts).Elem()
	limits, choice := make([]int, value.NumField()), make([]int, value.NumField())
	for i := range limits {
		limits[i] = statesOf(t, value.Field(i).Type())
	}
	for at := 0; at < len(limits); {
		visit(facts)
		for at = 0; at < len(limits); at++ { // the next combination, as an odometer shows it
			choice[at] = (choice[at] + 1) % limits[at]
			if set(value.Field(at), choice[at]); choice[at] > 0 {
				break
			}
		}
	}
}

// set gives a fact its state.
func set(fact reflect.Value, state int) {
	if fact.Kind() == reflect.Bool {
		fact.SetBool(state == 1)
	} else {
		fact.SetInt(int64(state))
	}
}

// statesOf returns the number of values of a fact.
func statesOf(t *testing.T, fact reflect.Type) int {
	t.Helper()
	switch n := states[fact.Name()]; {
	case fact.Kind() == reflect.Bool:
		return 2
	case n == 0:
		t.Fatalf("the number of states of %s is unknown: add it to states", fact)
		return 0
	default:
		return n
	}
}

// maxReason is the maximum length of the text of a reason, in bytes.
const maxReason = 512

// explains checks for each combination of the facts that the explanation has the result of the decision, and that its
// text is short. It returns the texts of the explained cases of each decision, one for each case.
func explains[F any, R comparable](t *testing.T, decide func(F) R, explain func(F) Explanation[R],
	name func(R) string) map[string]map[int]string {
	t.Helper()
	texts := map[string]map[int]string{}
	everyCombination(t, func(f F) {
		why, want := explain(f), decide(f)
		reason := why.Reason
		if why.Result != want || reason.Result != name(want) {
			t.Fatalf("%v (%s) is explained, want %s with %+v", why.Result, reason.Result, name(want), f)
		}
		if texts[reason.Decision] == nil {
			texts[reason.Decision] = map[int]string{}
		}
		if texts[reason.Decision][reason.Case] == "" {
			texts[reason.Decision][reason.Case] = reason.String()
		}
		length := len(" (case 10 of : ).") + len(reason.Says) + len(reason.Decision)
		for _, fact := range reason.Facts {
			length += len(", ") + len(fact)
		}
		if length > maxReason {
			t.Fatalf("%q is longer than %d bytes", reason.String(), maxReason)
		}
	})

	return texts
}

// conclusions are the names of the conclusions.
var conclusions = map[lifecycle.Conclusion]string{
	lifecycle.WriteStatus: "WriteStatus", lifecycle.UndoCreate: "UndoCreate", lifecycle.Report: "Report",
	lifecycle.Requeue: "Requeue", lifecycle.Finish: "Finish", lifecycle.RequeueConflict: "RequeueConflict",
	lifecycle.Fence: "Fence", lifecycle.AwaitChange: "AwaitChange", lifecycle.Interrupt: "Interrupt",
}

// TestExplanationsAreTheDecisions verifies that the explanations have the results of the decisions for every
// combination of facts, and that each case of a decision explains a combination.
func TestExplanationsAreTheDecisions(t *testing.T) {
	for _, stage := range []struct {
		name    string
		explain func(t *testing.T) map[string]map[int]string
		cases   map[string]int // that end in a result
	}{
		{"Admit", func(t *testing.T) map[string]map[int]string {
			t.Helper()

			return explains(t, lifecycle.Admit, Admit, lifecycle.Admission.String)
		}, map[string]int{"Admit": 10}},
		{"Decide", func(t *testing.T) map[string]map[int]string {
			t.Helper()

			return explains(t, lifecycle.Decide, Decide, lifecycle.Action.String)
		}, map[string]int{"observing": 4, "deleting": 1, "removing": 7, "removed": 6, "existing": 7, "missing": 5}},
		{"Conclude", func(t *testing.T) map[string]map[int]string {
			t.Helper()

			return explains(t, lifecycle.Conclude, Conclude, func(c lifecycle.Conclusion) string { return conclusions[c] })
		}, map[string]int{"Conclude": 9}},
	} {
		t.Run(stage.name, func(t *testing.T) {
			got := map[string]int{}
			for decision, cases := range stage.explain(t) {
				got[decision] = len(cases)
				for _, text := range cases {
					if strings.ContainsAny(text, "\n\t`") || !strings.HasSuffix(text, ").") {
						t.Errorf("%q is not a line that ends with a full stop", text)
					}
				}
			}
			if !reflect.DeepEqual(got, stage.cases) {
				t.Errorf("cases that explain a combination of facts: %v, want %v", got, stage.cases)
			}
		})
	}
}

func TestReason(t *testing.T) {
	for name, c := range map[string]struct {
		facts lifecycle.Facts
		want  string
	}{
		"parts of each condition": {
			lifecycle.Facts{Object: lifecycle.HasFinalizer, Presence: lifecycle.Present},
			"The resource is not as desired, and the policies do not allow Update: it is left unchanged " +
				"(case 6 of existing: Presence is Present, not MayUpdate).",
		},
		"only the alternative that holds": {
			lifecycle.Facts{Presence: lifecycle.Absent, Attempt: lifecycle.Superseded},
			"An earlier create may have succeeded, and another one could lead to a second resource: a user has to resolve " +
				"that (case 2 of missing: Attempt is Superseded).",
		},
		"a part of two conditions once": {
			lifecycle.Facts{},
			"Observe is called, unless a list that other objects share can be used (case 1 of observing: " +
				"Presence is Unobserved).",
		},
		"a decision of another function": {
			lifecycle.Facts{
				Object: lifecycle.HasFinalizer, Presence: lifecycle.Listed, UpToDate: true, MayUpdate: true,
			},
			"The list shows that nothing is to be done: that is used as the observation (case 3 of observing: " +
				"Presence is Listed, Object is not Deleted, existing decides Keep).",
		},
		"no condition": {
			lifecycle.Facts{Presence: lifecycle.Absent, MayCreate: true},
			"The resource does not exist, and it is safe to create it (case 5 of missing).",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Decide(c.facts).Reason.String(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
