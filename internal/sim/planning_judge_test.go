package sim

import (
	"context"
	"slices"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// brokenPlans has, for each judge of plans, planners that violate its property.
var brokenPlans = map[string]struct {
	reason string
	plan   func(*World, *process, resource.Managed) managed.Plan
}{
	"S28": {"stores the finalizer", func(w *World, p *process, mg resource.Managed) managed.Plan {
		before := mg.DeepCopyObject().(client.Object)
		meta.AddFinalizer(mg, managed.FinalizerName)
		_ = w.server.Client().As("planner").Patch(context.Background(), mg, client.MergeFrom(before))

		return w.planOf(p, mg)
	}},
	"S28 outside": {"creates the resource", func(w *World, p *process, mg resource.Managed) managed.Plan {
		plan := w.planOf(p, mg)
		w.system.add(extResource{ID: "planned", For: mg.GetUID()})

		return plan
	}},
	"S29": {"believes a status that says Ready", func(w *World, p *process, mg resource.Managed) managed.Plan {
		plan := w.planOf(p, mg)
		if mg.GetCondition(commonv1.TypeReady).Status == "True" {
			plan.Action = "Keep"
		}

		return plan
	}},
	"S29 of the reason": {"gives another reason", func(w *World, p *process, mg resource.Managed) managed.Plan {
		plan := w.planOf(p, mg)
		plan.Because = "Somebody asked for it."

		return plan
	}},
	"S29 of differences": {"remembers another difference", func(w *World, p *process, mg resource.Managed) managed.Plan {
		plan := w.planOf(p, mg)
		plan.Differences = append(plan.Differences, commonv1.Difference{Path: "parent"})

		return plan
	}},
}

// planStory runs what users do to objects, ends the process, and lets the next one begin. All of it is planned.
func planStory(t *testing.T, with func(*World, *process, resource.Managed) managed.Plan,
	do func(*World)) (Result, *planning) {
	t.Helper()
	plans := newPlanning()
	if with != nil {
		plans.plan = with
	}
	r := storyWith(t, Schedule{Scenario: "create", Class: "named"}, func(w *World) { w.hooks.planning = plans },
		func(w *World) {
			do(w)
			w.run(w.now().Add(time.Minute))
			w.processes[0].end(Crash, time.Second, stepped{}, 0)
			w.run(w.now().Add(time.Minute))
		})

	return r, plans
}

// atRest leaves objects in states that a process finds only if they were there before it.
func atRest(w *World) {
	for _, name := range []string{"kept", "paused", "changed", "odd", "observed"} {
		w.users.create(newBucket(name))
	}
	w.run(w.now().Add(time.Minute))
	key := func(name string) client.ObjectKey { return client.ObjectKey{Namespace: firstKey.Namespace, Name: name} }
	w.users.change(key("kept"), func(mg resource.Managed) { meta.AddFinalizer(mg, "example.com/kept") })
	w.users.delete(key("kept"))
	w.users.annotate(key("paused"), keyPaused, "true")
	w.users.annotate(key("changed"), meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve)
	w.users.annotate(key("odd"), meta.AnnotationKeyManagementPolicy, "whatever")
	w.users.annotate(key("observed"), meta.AnnotationKeyManagementPolicy, meta.ManagementPolicyObserve)
	w.users.annotate(key("observed"), meta.AnnotationKeyExternalName, "nothing")
	w.users.change(key("changed"), resize(5))
}

// TestPlansOfObjectsAtRest: a process that finds objects in a state of rest does what was planned. No other test has
// all of these actions. The command mutants reads the line that says what was found.
func TestPlansOfObjectsAtRest(t *testing.T) {
	r, plans := planStory(t, nil, atRest)
	for _, v := range r.Violations {
		if v.Property == "S28" || v.Property == "S29" {
			t.Errorf("found %s after 1 schedules by objects at rest: %s", v.Property, v.Text)
		}
	}
	for _, action := range []string{"AwaitFinalizers", "Pause", "Reject", "ReportMissing", "Tolerate"} {
		if plans.made[action] == 0 {
			t.Errorf("%s was never planned: %v", action, plans.made)
		}
	}
}

// TestPlanJudges checks that each property of plans is found to be violated by a planner that violates it.
func TestPlanJudges(t *testing.T) {
	for name, c := range brokenPlans {
		t.Run(name, func(t *testing.T) {
			r, _ := planStory(t, c.plan, atRest)
			if !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Property == name[:3] }) {
				t.Errorf("a planner that %s: no violation of %s, but %v", c.reason, name[:3], r.Violations)
			}
		})
	}
}
