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

var everyFault = flag.Bool("every-fault", false,
	"TestSchedulesInNATS tries every single fault at every boundary of the lives that most objects have")

// TestSchedulesInNATS: all scenarios of the simulator pass when NATS serves the requests of the managed reconciler
// about single objects; lists and the cache stay simulated. The update scenario also passes with every single fault at
// each of its boundaries. With -every-fault, which make sim-check sets, the create, update, delete and recover
// scenarios do so in every class, each to its own end: 90 seconds of processor time.
func TestSchedulesInNATS(t *testing.T) {
	h := newNATSServer(t, sim.Scheme())
	serve[*sim.Bucket](h, "buckets")
	serve[*sim.Replica](h, "replicas")
	serve[*sim.Definition](h, "definitions", kube.ClusterScoped())
	serve[*corev1.Namespace](h, "namespaces", kube.ClusterScoped())
	serve[*corev1.Secret](h, "secrets")
	simulator, ran, lives := sim.New(), 0, 0
	for _, s := range sim.Faultless() {
		t.Run(s.String(), func(t *testing.T) {
			var found []string
			e := sim.Explorer{
				Scenario: s.Scenario, Class: s.Class, Depth: 1, Short: !*everyFault, Whole: *everyFault,
				Run: func(s sim.Schedule) sim.Result { return h.run(t, simulator, s) },
				Found: func(r sim.Result) {
					found = append(found, fmt.Sprintf("%s: %v", r.Schedule, r.Violations))
				},
			}
			if faulty(s.Scenario, s.Class) {
				if lives++; len(e.Explore().Violations) == 0 && e.Ran < 20 {
					t.Errorf("%d schedules ran: hardly a fault was tried", e.Ran)
				}
			} else if r := e.Run(s); len(r.Violations) > 0 {
				e.Found(r)
			}
			if len(found) > 0 {
				t.Errorf("%d schedules:\n%s", len(found), strings.Join(found[:min(len(found), 5)], "\n"))
			}
			ran += max(e.Ran, 1)
		})
	}
	t.Logf("schedules: %d, lives with faults: %d, buckets: %d, calls: %d", ran, lives, h.made, h.calls)
	if ran < 150 || lives == 0 {
		t.Errorf("%d schedules ran, and faults were tried in %d lives", ran, lives)
	}
}

// faulty reports whether faults are tried in a scenario.
func faulty(scenario, class string) bool {
	if *everyFault {
		return slices.Contains([]string{"create", "update", "delete", "recover"}, scenario)
	}

	return scenario == "update" && class == "token"
}

// run runs a schedule with the objects in NATS. The same objects have the same UIDs in each.
func (h *natsServer) run(t *testing.T, simulator *sim.Simulator, s sim.Schedule) (r sim.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h.uids = 0
		var err error
		if r, err = simulator.RunBehind(s, false, h.empty); err != nil {
			t.Fatal(err)
		}
		if n, err := h.writes(); err != nil || n == 0 {
			t.Errorf("%s wrote %d times, %v: the objects are somewhere else", s, n, err)
		}
	})

	return r
}
