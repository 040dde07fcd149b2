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
	combinations := 1
	for i := range value.NumField() {
		combinations *= statesOf(t, value.Field(i).Type())
	}
	for choice := range combinations {
		for i := range value.NumField() {
			field := value.Field(i)
			n := statesOf(t, field.Type())
			if field.Kind() == reflect.Bool {
				field.SetBool(choice%n == 1)
			} else {
				field.SetInt(int64(choice % n))
			}
			choice /= n
		}
		visit(facts)
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

// explains checks for each combination of the facts that the explanation has the result of the decision, and that its
// text is one short line. It returns the explained cases of each decision.
func explains[F any, R comparable](t *testing.T, decide func(F) R, explain func(F) Explanation[R],
	name func(R) string) map[string]map[int]bool {
	t.Helper()
	cases := map[string]map[int]bool{}
	checked := map[string]bool{}
	everyCombination(t, func(f F) {
		why := explain(f)
		if want := decide(f); why.Result != want || why.Reason.Result != name(want) {
			t.Fatalf("%v (%s) is explained, want %s with %+v", why.Result, why.Reason.Result, name(want), f)
		}
		if cases[why.Reason.Decision] == nil {
			cases[why.Reason.Decision] = map[int]bool{}
		}
		cases[why.Reason.Decision][why.Reason.Case] = true
		text := why.Reason.String()
		if checked[text] {
			return
		}
		checked[text] = true
		if len(text) > 512 || strings.ContainsAny(text, "\n\t`") || !strings.HasSuffix(text, ").") {
			t.Errorf("%q is no short line that ends with a full stop", text)
		}
	})

	return cases
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
		explain func(t *testing.T) map[string]map[int]bool
		cases   map[string]int // that end in a result
	}{
		{"Admit", func(t *testing.T) map[string]map[int]bool {
			t.Helper()

			return explains(t, lifecycle.Admit, Admit, lifecycle.Admission.String)
		}, map[string]int{"Admit": 10}},
		{"Decide", func(t *testing.T) map[string]map[int]bool {
			t.Helper()

			return explains(t, lifecycle.Decide, Decide, lifecycle.Action.String)
		}, map[string]int{"observing": 4, "deleting": 1, "removing": 7, "removed": 6, "existing": 7, "missing": 5}},
		{"Conclude", func(t *testing.T) map[string]map[int]bool {
			t.Helper()

			return explains(t, lifecycle.Conclude, Conclude, func(c lifecycle.Conclusion) string { return conclusions[c] })
		}, map[string]int{"Conclude": 9}},
	} {
		t.Run(stage.name, func(t *testing.T) {
			got := map[string]int{}
			for decision, cases := range stage.explain(t) {
				got[decision] = len(cases)
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
		"a decision of another object": {
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
