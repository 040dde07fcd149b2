package systemtest

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestMany: many objects share some control planes. In a steady state no connection is
// made and nothing is sent to the onboarding cluster; a rotated Secret makes exactly one
// connection.
func TestMany(t *testing.T) {
	e := newEstate(t, "many")
	n := time.Duration(*objects)
	wait.Allow(t, n*time.Second)
	e.retry, e.recheck = max(e.retry, n*10*time.Millisecond), max(e.recheck, n*10*time.Millisecond)
	e.config.Poll.Duration = max(time.Second, n*20*time.Millisecond)
	if err := platform.api.Update(t.Context(), e.config); err != nil {
		t.Fatal(err)
	}
	e.at = shared
	e.grant()
	e.start()
	begin := time.Now()
	known := map[client.ObjectKey]bool{}
	for i := range *objects {
		name := fmt.Sprintf("g-%d", i)
		if at := shared(reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}); !known[at] {
			known[at] = true
			e.plane(name)
		}
		e.create(name)
	}
	list := &GardenList{}
	wait.Until(t, "all are ready", func() bool {
		if err := onboarding.api.List(t.Context(), list, client.InNamespace(e.ns)); err != nil {
			t.Fatal(err)
		}
		ready := 0
		for _, g := range list.Items {
			if g.Status.Phase == serviceprovider.StatusPhaseReady {
				ready++
			}
		}

		return ready == *objects
	})
	fmt.Printf("objects: %d\nclusters: %d\nseconds_until_ready: %.1f\n", *objects, len(known),
		time.Since(begin).Seconds())
	steady := func(passes int) {
		t.Helper()
		before, _, _ := e.gardener.counts()
		wait.Until(t, "there are more passes",
			func() bool { now, _, _ := e.gardener.counts(); return now >= before+passes })
	}
	steady(*objects) // the last grants have reached all objects
	builds := e.builds.Load()
	e.ledger.Reset()
	steady(2 * *objects)
	sent := e.ledger.Objects()
	fmt.Printf("connections: %d\nsteady_passes: %d\nconnections_in_steady_passes: "+
		"%d\nrequests_in_steady_passes: %d\n", builds, 2**objects, e.builds.Load()-builds, len(sent))
	if int(builds) != *objects || e.builds.Load() != builds || len(sent) != 0 {
		t.Errorf("steady passes: of %d connections %d are new, sent %s", builds, e.builds.Load()-builds,
			test.SummarizeRequests(sent))
	}
	if err := e.granter.Rotate(t.Context(), client.ObjectKeyFromObject(e.request(&list.Items[0]))); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "there is one connection more", func() bool { return e.builds.Load() > builds })
	steady(*objects)
	fmt.Printf("connections_after_a_rotation: %d\n", e.builds.Load()-builds)
	if more := e.builds.Load() - builds; more != 1 {
		t.Errorf("want one connection more, got %d", more)
	}
}

// shared names the control plane that a garden shares with others.
func shared(r reconcile.Request) client.ObjectKey {
	var i int
	_, _ = fmt.Sscanf(r.Name, "g-%d", &i)

	return client.ObjectKey{Namespace: fmt.Sprintf("many-%d", i%*planes), Name: "plane"}
}
