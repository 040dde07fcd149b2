package managed_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// plan returns the plan of a process that has just begun, and checks that nothing was changed by it.
func (j *judge) plan(options []managed.ReconcilerOption) (plan managed.Plan, ok bool) {
	j.Helper()
	kind := fake.GVK(&fullResource{})
	j.server.MockGroupVersionKindFor = func(runtime.Object) (schema.GroupVersionKind, error) { return kind, nil }
	stored := j.server.get(j.key)
	if stored == nil {
		return plan, false
	}
	before, version, calls := duplicate(stored), j.server.version, len(j.calls)
	planner := managed.NewPlannerOf(&fake.Manager{Client: j.server, Scheme: fake.SchemeWith(&fullResource{})})
	plan = managed.NewReconciler(planner.Manager(), resource.ManagedKind(kind), options...).Plan(j.Context(), stored)
	if changes := mutating(strings.Join(j.calls[calls:], " ")); changes != "" || j.server.version != version ||
		j.server.get(j.key) != stored || !reflect.DeepEqual(stored, before) {
		j.Errorf("a plan has changed something: calls %q, versions %d and %d, objects\n%+v\n%+v", changes, version,
			j.server.version, before, stored)
	}

	return plan, true
}

func duplicate(mg resource.Managed) resource.Managed { return mg.DeepCopyObject().(resource.Managed) }

// kept checks that a pass did what was planned. Decisions are the lines about decisions of the pass.
func (j *judge) kept(plan managed.Plan, decisions []string) {
	j.Helper()
	made := mutating(strings.Join(j.calls, " "))
	if strings.HasPrefix(decided(decisions), "action Defer ") { // a plan does not spread the load
		return
	}
	if plan.Err != nil {
		if made != "" {
			j.Errorf("%s, although there was no plan: %v", made, plan.Err)
		}

		return
	}
	want := "action " + plan.Action + " because " + strings.TrimSuffix(plan.Because, ".") + " ("
	if !strings.HasPrefix(decided(decisions), want) {
		j.Errorf("planned %q, and the decision is %q", want, decided(decisions))
	}
	if plan.Changes() && made != plan.Action || !plan.Changes() && made != "" {
		j.Errorf("planned %s, and made %q", plan.Action, made)
	}
}

// decided returns the first decision to change something, or the decision that ended the pass.
func decided(decisions []string) string {
	last := ""
	for _, line := range decisions {
		action := strings.Fields(line)[1]
		if slices.Contains([]string{"Create", "Update", "Delete"}, action) {
			return line
		}
		if strings.Contains(line, " of Conclude") {
			break
		}
		last = line
	}

	return last
}

// newDecisionLog returns a logger, and the lines about decisions that it gets.
func newDecisionLog() (logging.Logger, *[]string) {
	lines := &[]string{}

	return decisionLog{logging.NewNopLogger(), lines}, lines
}

// plannedActions are the actions and admissions that TestRandomObjects has to plan.
func plannedActions() []string {
	return []string{"Abandon", "AskUser", "AwaitExistence", "AwaitFinalizers", "AwaitGone", "Create", "Delete", "Ignore",
		"Keep", "Orphan", "Pause", "Reject", "ReportMissing", "ReportNotOwned", "Tolerate", "Update"}
}

// missingActions returns the actions that were never planned.
func missingActions(planned map[string]int) []string {
	return slices.DeleteFunc(plannedActions(), func(action string) bool {
		return slices.Contains(slices.Collect(maps.Keys(planned)), action)
	})
}
