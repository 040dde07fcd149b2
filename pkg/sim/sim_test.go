package sim_test

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/sim"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
)

// emptyStores returns a client of stores in memory for every kind of objects of schedules.
func emptyStores() (client.Client, error) {
	return kube.NewClient(sim.Scheme(), []kube.Kind{
		kube.Serve(memory.New[*kube.Envelope[*sim.Bucket]]("buckets")),
		kube.Serve(memory.New[*kube.Envelope[*sim.Replica]]("replicas")),
		kube.Serve(memory.New[*kube.Envelope[*sim.Definition]]("definitions"), kube.ClusterScoped()),
		kube.Serve(memory.New[*kube.Envelope[*corev1.Namespace]]("namespaces"), kube.ClusterScoped()),
		kube.Serve(memory.New[*kube.Envelope[*corev1.Secret]]("secrets")),
	})
}

// TestAdapter tests an adapter as its author would: each scenario without faults, and one with every single fault.
func TestAdapter(t *testing.T) {
	simulator := sim.New()
	run := func(s sim.Schedule) (r sim.Result) {
		synctest.Test(t, func(t *testing.T) {
			var err error
			if r, err = simulator.RunBehind(s, false, emptyStores); err != nil {
				t.Fatal(err)
			}
		})

		return r
	}
	all := sim.Faultless()
	if len(all) < 50 {
		t.Errorf("there are only %d scenarios", len(all))
	}
	for _, s := range all {
		if r := run(s); len(r.Violations) > 0 {
			t.Errorf("%s: %v", r.Schedule, r.Violations)
		}
	}
	e := sim.Explorer{
		Scenario: "create", Class: "opaque", Depth: 1, Short: true, Run: run,
		Found: func(r sim.Result) { t.Errorf("%s: %v", r.Schedule, r.Violations) },
	}
	if e.Explore(); e.Ran < 20 {
		t.Errorf("%d schedules ran: hardly a fault was tried", e.Ran)
	}
}

// TestRunReportsABadServer verifies that a server that cannot be made is an error of the run, and that a schedule with
// an unknown scenario is.
func TestRunReportsABadServer(t *testing.T) {
	errBroken := errors.New("broken")
	simulator := sim.New()
	synctest.Test(t, func(t *testing.T) {
		s := sim.Faultless()[0]
		_, err := simulator.RunBehind(s, false, func() (client.Client, error) { return nil, errBroken })
		if !errors.Is(err, errBroken) {
			t.Errorf("got %v, want the error of the server", err)
		}
		if _, err := simulator.Run(sim.Schedule{Scenario: "none", Class: "opaque"}, false); err == nil {
			t.Error("an unknown scenario was run")
		}
	})
}
