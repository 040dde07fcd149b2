package clusteraccess

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// renamedFrom is what a controller has left that was called garden-old.
var renamedFrom = legacy{
	controller: "garden-old", mcp: "garden-old--g--mcp", workload: "garden-old--g--wl",
	purpose: upstreamPurpose,
}

// statuses are what the status of an object may say of which something was made.
var statuses = map[string][]metav1.Condition{
	"UpstreamStatus": {{
		Type: serviceprovider.ServiceProviderConditionReady, Status: metav1.ConditionTrue,
		Reason: serviceprovider.ReasonReconcileSuccess,
	}},
	"AccessWasReady": {{
		Type: serviceprovider.ConditionClusterAccessReady, Status: metav1.ConditionTrue,
		Reason: serviceprovider.ReasonGranted,
	}},
	"ServiceCreated": {
		{
			Type: serviceprovider.ConditionClusterAccessReady, Status: metav1.ConditionFalse,
			Reason: serviceprovider.ReasonClusterAccessFailed,
		},
		{
			Type: serviceprovider.ConditionServiceCreated, Status: metav1.ConditionTrue,
			Reason: serviceprovider.ReasonCreated,
		},
	},
}

// TestFormerNames: a controller that was renamed goes on with what it has asked for by its
// former name, and gives that back. The labels stay as the former one has them.
func TestFormerNames(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		t.Run(map[bool]string{false: "Alive", true: "Deleted"}[deleted], func(t *testing.T) {
			c := inherits(t, "g", renamedFrom)
			before := c.sorted()
			c.name, c.options = "garden", []Option{WithFormerNames("others", "Garden-Old")}
			c.restart()
			want := []string{"Delete"}
			if !deleted {
				c.passes(2)
				want = []string{"CreateOrUpdate", "Delete"}
				c.calls(want[:1]...)
				if diff := cmp.Diff(before, c.sorted()); diff != "" {
					t.Errorf("requests: -before +after:\n%s", diff)
				}
				for _, ar := range c.accessRequests() {
					if !c.access.ownedByController(&ar) || !strings.EqualFold(ar.Labels[LabelManagedBy], "garden-old") {
						t.Errorf("%s has the labels %v", ar.Name, ar.Labels)
					}
				}
			}
			c.deleted()
			c.passes(8)
			if c.calls(want...); !c.gone() || len(c.requests()) != 0 {
				t.Errorf("gone %t, left %v, conditions %+v", c.gone(), c.requests(), c.stored.status.Conditions)
			}
		})
	}
}

// TestDeletionMakesNoCluster: a controller that was renamed, and does not know by which name it
// has asked for a workload cluster, asks for no other one to delete from: the deletion is
// blocked, and goes on when it knows.
func TestDeletionMakesNoCluster(t *testing.T) {
	for name, status := range statuses {
		t.Run(name, func(t *testing.T) {
			c := inherits(t, "g", renamedFrom)
			c.stored.status.Conditions = slices.Clone(status)
			before := len(c.clusterRequests())
			c.name = "garden"
			c.restart()
			c.deleted()
			c.passes(6)
			if c.calls(); c.gone() || len(c.clusterRequests()) != before {
				t.Fatalf("want it kept, and no cluster asked for: gone %t, there are %v", c.gone(), c.requests())
			}
			if got := c.condition(serviceprovider.ConditionDeletionBlocked); got != "True/ClusterGone" {
				t.Errorf("want it said what the deletion waits for, got %q: %+v", got, c.stored.status.Conditions)
			}
			if !slices.Contains(c.events, "Warning DeletionBlocked") {
				t.Errorf("got the events %v", c.events)
			}
			blocked := meta.FindStatusCondition(c.stored.status.Conditions, serviceprovider.ConditionDeletionBlocked)
			if blocked == nil || !strings.Contains(blocked.Message, "WithFormerNames") {
				t.Errorf("want it said what to do, got %+v", blocked)
			}

			c.options = []Option{WithFormerNames("garden-old")}
			c.restart()
			c.passes(8)
			if c.calls("Delete"); !c.gone() || len(c.requests()) != 0 {
				t.Errorf("gone %t, left %v", c.gone(), c.requests())
			}
		})
	}
}

// TestMissingAccessIsReported: without a workload cluster, access to the control plane is requested
// again, Delete is called, and requests under another name are reported.
func TestMissingAccessIsReported(t *testing.T) {
	for name, status := range statuses {
		t.Run(name, func(t *testing.T) {
			c := inherits(t, "g", renamedFrom)
			c.stored.status.Conditions = slices.Clone(status)
			c.name, c.alone = "garden", true
			c.restart()
			c.deleted()
			c.passes(8)
			if c.calls("Delete"); !c.gone() {
				t.Errorf("want it gone: %+v", c.stored.status.Conditions)
			}
			if diff := cmp.Diff([]string{"Warning ClusterAccessMissing"}, c.events); diff != "" {
				t.Errorf("events: -want +got:\n%s", diff)
			}
		})
	}
}

// TestOrphanedIsReported: resources that a policy leaves in a cluster are reported before the
// object is deleted.
func TestOrphanedIsReported(t *testing.T) {
	c := inherits(t, "g", renamedFrom)
	c.stored.status.Conditions = slices.Clone(statuses["ServiceCreated"])
	c.name, c.onGone = "garden", serviceprovider.DeletionOrphan
	c.restart()
	c.deleted()
	c.passes(8)
	if c.calls(); !c.gone() {
		t.Errorf("want it gone: %+v", c.stored.status.Conditions)
	}
	if diff := cmp.Diff([]string{"Warning ServiceOrphaned"}, c.events); diff != "" {
		t.Errorf("events: -want +got:\n%s", diff)
	}
}
