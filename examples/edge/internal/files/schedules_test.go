package files_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/moorage-dev/moorage/pkg/sim"
	"github.com/moorage-dev/moorage/pkg/store/kube"
)

var everyFault = flag.Bool("every-fault", false, "TestSchedulesInNATS tries every fault at every boundary of the lives that most objects have")

// TestSchedulesInNATS: with its objects in NATS the managed reconciler goes through all
// scenarios of the simulator, and through the lives that most objects have whatever goes
// wrong at any of their boundaries. Of the latter, one is tried unless all are asked for: they
// take a minute, and make sim-check does so.
func TestSchedulesInNATS(t *testing.T) {
	h := newHarbour(t, sim.Scheme())
	serve[*sim.Berth](h, "berths")
	serve[*sim.Tender](h, "tenders")
	serve[*sim.Definition](h, "definitions", kube.ClusterScoped())
	serve[*corev1.Namespace](h, "namespaces", kube.ClusterScoped())
	serve[*corev1.Secret](h, "secrets")
	ran := 0
	for _, scenario := range sim.Scenarios() {
		for _, class := range sim.Classes() {
			if !sim.Has(scenario, class) {
				continue
			}
			t.Run(scenario+"/"+class, func(t *testing.T) {
				var found []string
				e := sim.Explorer{
					Scenario: scenario, Class: class, Depth: 1, Short: !*everyFault,
					Run: func(s sim.Schedule) sim.Result { return h.run(t, s) },
					Found: func(r sim.Result) {
						found = append(found, fmt.Sprintf("%s: %v", r.Schedule, r.Violations))
					},
				}
				if faulty(scenario, class) {
					e.Explore()
				} else if r := e.Run(sim.Schedule{Scenario: scenario, Class: class}); len(r.Violations) > 0 {
					e.Found(r)
				}
				if len(found) > 0 {
					t.Errorf("%d schedules:\n%s", len(found), strings.Join(found[:min(len(found), 5)], "\n"))
				}
				ran += max(e.Ran, 1)
			})
		}
	}
	if t.Logf("schedules: %d, buckets: %d, calls: %d", ran, h.made, h.calls); ran < 150 {
		t.Errorf("%d schedules ran", ran)
	}
}

// faulty says whether something goes wrong in a life.
func faulty(scenario, class string) bool {
	if *everyFault {
		return slices.Contains([]string{"create", "update", "delete", "recover"}, scenario)
	}

	return scenario == "update" && class == "token"
}

// run runs a schedule with the objects in NATS. The same objects have the same UIDs in each.
func (h *harbour) run(t *testing.T, s sim.Schedule) (r sim.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h.uids = 0
		var err error
		if r, err = sim.RunBehind(s, false, h.empty); err != nil {
			t.Fatal(err)
		}
		if n, err := h.writes(); err != nil || n == 0 {
			t.Errorf("%s wrote %d times, %v: the objects are somewhere else", s, n, err)
		}
	})

	return r
}
