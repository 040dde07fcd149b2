package conformance

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
)

// TestClassesOfClients: a correct client of each class passes under all faults, with an external system that stores
// owners and with one that does not.
func TestClassesOfClients(t *testing.T) {
	for _, class := range []Class{Named, Token, Findable, Opaque} {
		for _, stamped := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/stamped=%t", class, stamped), func(t *testing.T) {
				d := newDiskService(class)
				d.stamped = stamped
				began := time.Now()
				s := d.suite(&diskClient{d})
				s.Within = within
				k := examine(t, s)
				for _, f := range k.findings.list {
					t.Error(f)
				}
				t.Log("schedules", k.schedulesRun, "boundaries", k.boundaries, "left out", k.skipped, time.Since(began))
				if complete && k.skipped > 0 {
					t.Errorf("%d schedules were left out", k.skipped)
				}
			})
		}
	}
}

// TestUnstamped: a correct client of each class passes if its resources have no owner stamp. TestClassesOfClients
// has the faults.
func TestUnstamped(t *testing.T) {
	for _, class := range []Class{Named, Token, Findable, Opaque} {
		t.Run(string(class), func(t *testing.T) {
			d := newDiskService(class)
			s := d.suite(&diskClient{d})
			s.Within = time.Nanosecond
			k := examine(t, s)
			for _, f := range k.findings.list {
				t.Error(f)
			}
			if k.schedulesRun < 10 || k.skipped == 0 {
				t.Errorf("%d schedules were run and %d left out: each story is told once, without faults",
					k.schedulesRun, k.skipped)
			}
		})
	}
}

// TestOnStores: correct clients also pass with their objects in stores.
func TestOnStores(t *testing.T) {
	for _, class := range []Class{Named, Token, Findable, Opaque} {
		t.Run(string(class), func(t *testing.T) {
			d := newDiskService(class)
			d.stamped = true
			s := d.suite(&diskClient{d})
			s.Within = 5 * time.Second
			var stores []*memory.Store[*kube.Envelope[*volume.Volume]]
			s.Server = func() (ctrlclient.Client, error) {
				stores = append(stores, memory.New[*kube.Envelope[*volume.Volume]]("volumes"))

				return kube.NewClient(s.Scheme, []kube.Kind{kube.Serve(stores[len(stores)-1])})
			}
			k := examine(t, s)
			for _, f := range k.findings.list {
				t.Error(f)
			}
			written := uint64(0)
			for _, s := range stores {
				state, err := s.State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				written += state.Revision
			}
			if t.Log("schedules", k.schedulesRun, "writes", written); k.schedulesRun < 20 ||
				written < uint64(k.schedulesRun) {
				t.Errorf("%d schedules wrote %d times to %d stores", k.schedulesRun, written, len(stores))
			}
		})
	}
}

// TestJudges: a violation of a property of package sim is reported in a subtest, also of a new one.
func TestJudges(t *testing.T) {
	for _, judge := range append(slices.Collect(maps.Keys(sim.Properties)), "S99") {
		name := propertyOf(judge)
		if !slices.ContainsFunc(Properties(), func(p Property) bool { return p.Name == name }) {
			t.Errorf("%s belongs to no property but %q", judge, name)
		}
	}
	for _, p := range properties {
		for _, judge := range append(p.simProperties, p.name) {
			if got := propertyOf(judge); got != p.name {
				t.Errorf("%s belongs to %s instead of %s", judge, got, p.name)
			}
		}
	}
}
