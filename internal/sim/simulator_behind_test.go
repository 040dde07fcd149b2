package sim_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/internal/sim/search"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
)

// stored returns a client of stores in memory that gives the same answers in each run, and a function that returns the
// number of writes of simulated objects.
func stored(t *testing.T) (client.Client, func() uint64) {
	t.Helper()
	uids := 0
	rules := memory.WithRules(store.Rules{Now: time.Now, NewUID: func() string {
		uids++

		return fmt.Sprintf("00000000-0000-4000-8000-%012d", uids)
	}})
	buckets := memory.New[*kube.Envelope[*bucket.Bucket]]("buckets", rules)
	replicas := memory.New[*kube.Envelope[*bucket.Replica]]("replicas", rules)
	c, err := kube.NewClient(sim.Scheme(), []kube.Kind{
		kube.Serve(buckets), kube.Serve(replicas),
		kube.Serve(memory.New[*kube.Envelope[*bucket.Definition]]("definitions", rules), kube.ClusterScoped()),
		kube.Serve(memory.New[*kube.Envelope[*corev1.Namespace]]("namespaces", rules), kube.ClusterScoped()),
		kube.Serve(memory.New[*kube.Envelope[*corev1.Secret]]("secrets", rules)),
	})
	if err != nil {
		t.Fatal(err)
	}

	return c, func() uint64 {
		b, errB := buckets.State(t.Context())
		of, errT := replicas.State(t.Context())
		if errB != nil || errT != nil {
			t.Fatal(errB, errT)
		}

		return b.Revision + of.Revision
	}
}

var (
	storeDepth = flag.Int("store-depth", 1,
		"how many faults TestScenariosOnStores combines exhaustively in the lives that most objects have")
	storeSeeds = flag.Uint64("store-seeds", 300, "how many random schedules TestRandomOnStores runs")
	storeAll   = flag.Bool("store-all", false, "TestScenariosOnStores tries faults in all scenarios")
)

// onStore runs a schedule with the objects in stores.
func onStore(t *testing.T, s sim.Schedule, wrote bool) (r sim.Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		c, writes := stored(t)
		if r, err = sim.RunBehind(s, false, func() (client.Client, error) { return c, nil }); err != nil {
			t.Fatal(err)
		}
		if wrote && writes() == 0 {
			t.Errorf("%s wrote nothing: the objects are somewhere else", s)
		}
	})

	return r
}

// TestRunBehindError checks that if no server can be made, the result is an error and not a run on the simulated
// server.
func TestRunBehindError(t *testing.T) {
	want := errors.New("no server")
	_, err := sim.RunBehind(sim.Schedule{Scenario: "create", Class: "token"}, false,
		func() (client.Client, error) { return nil, want })
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

// TestRandomOnStores checks that random combinations of faults break nothing, in any scenario.
func TestRandomOnStores(t *testing.T) {
	for seed := uint64(1); seed <= *storeSeeds; seed++ {
		s := sim.Random(seed, 6)
		if r := onStore(t, s, false); len(r.Violations) > 0 {
			t.Errorf("seed %d, %s: %v", seed, s, r.Violations)
		}
	}
}

// TestScenariosOnStores checks that every scenario passes with the objects in stores, and the most frequent ones pass
// with any fault at any boundary.
func TestScenariosOnStores(t *testing.T) {
	ran := 0
	run := func(t *testing.T, s sim.Schedule) sim.Result {
		t.Helper()
		ran++

		return onStore(t, s, true)
	}
	faulty := map[string]bool{"create": true, "update": true, "delete": true, "recover": true}
	for _, scenario := range sim.Scenarios() {
		for _, class := range sim.Classes() {
			if !sim.Has(scenario, class) {
				continue
			}
			t.Run(scenario+"/"+class, func(t *testing.T) {
				var found []string
				e := search.Explorer{
					Scenario: scenario, Class: class, Depth: *storeDepth, Short: true,
					Run: func(s sim.Schedule) sim.Result { return run(t, s) },
					Found: func(r sim.Result) {
						found = append(found, fmt.Sprintf("%s: %v", r.Schedule, r.Violations))
					},
				}
				if faulty[scenario] || *storeAll {
					e.Explore()
				} else {
					if r := e.Run(sim.Schedule{Scenario: scenario, Class: class}); len(r.Violations) > 0 {
						e.Found(r)
					}
				}
				if len(found) > 0 {
					t.Errorf("%d of %d schedules:\n%s", len(found), max(e.Ran, 1),
						strings.Join(found[:min(len(found), 5)], "\n"))
				}
			})
		}
	}
	if t.Logf("schedules: %d", ran); ran < 500 {
		t.Errorf("%d schedules ran", ran)
	}
}
