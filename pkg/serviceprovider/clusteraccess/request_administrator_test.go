package clusteraccess

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// accessRequest returns the AccessRequest of a name.
func (c *colony) accessRequest(name string) *clustersv1alpha1.AccessRequest {
	c.Helper()
	for _, ar := range c.accessRequests() {
		if ar.Name == name {
			return &ar
		}
	}
	c.Fatalf("there is no AccessRequest %s", name)

	return nil
}

// own returns the ClusterRequest that was made for the object.
func (c *colony) own() *clustersv1alpha1.ClusterRequest {
	c.Helper()
	for _, cr := range c.clusterRequests() {
		if cr.Spec.Purpose != "mcp" {
			return &cr
		}
	}
	c.Fatal("there is no ClusterRequest of the object")

	return nil
}

// removed takes away the cluster that was made for the object.
func (c *colony) removed() {
	c.Helper()
	cr := c.own()
	cluster := &clustersv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: cr.Status.Cluster.Namespace, Name: cr.Status.Cluster.Name,
	}}
	if err := c.platform.Delete(c.Context(), cluster); err != nil {
		c.Fatal(err)
	}
}

// message returns what a condition of the object says.
func (c *colony) message(of string) string {
	i := slices.IndexFunc(c.stored.status.Conditions, func(s metav1.Condition) bool { return s.Type == of })
	if i < 0 {
		return ""
	}

	return c.stored.status.Conditions[i].Message
}

// TestAdministratorDeletesAccess: an administrator deletes an AccessRequest of a service that is
// wanted. It is made again when the platform has let the old one go, and the service is as before.
func TestAdministratorDeletesAccess(t *testing.T) {
	for _, name := range []string{"garden--g--mcp", "garden--g--wl"} {
		t.Run(name, func(t *testing.T) {
			c := newColony(t)
			c.passes(4)
			c.calls("CreateOrUpdate")
			old := c.accessRequest(name)
			old.UID = "old"
			c.going(old)
			c.passes(3)
			if got := c.accessRequest(name); got.DeletionTimestamp.IsZero() ||
				!slices.Contains(got.Finalizers, Finalizer) {
				t.Errorf("it goes before the platform has let it go: %+v", got.ObjectMeta)
			}
			if got := c.condition(serviceprovider.ConditionClusterAccessReady); got != "False/WaitingForClusterAccess" {
				t.Errorf("while it goes: %s", got)
			}
			got := c.accessRequest(name)
			got.Finalizers = []string{Finalizer}
			if err := c.platform.Update(c.Context(), got); err != nil {
				t.Fatal(err)
			}
			c.passes(4)
			if got := c.accessRequest(name); !got.DeletionTimestamp.IsZero() {
				t.Errorf("it was not made again: %+v", got.ObjectMeta)
			}
			if got := c.condition(serviceprovider.ConditionClusterAccessReady); got != "True/Granted" ||
				!c.own().DeletionTimestamp.IsZero() {
				t.Errorf("then: %s, with the ClusterRequest %+v", got, c.own().ObjectMeta)
			}
			c.deleted()
			c.passes(8)
			if c.calls("CreateOrUpdate", "Delete"); !c.gone() || len(c.requests()) != 0 {
				t.Errorf("gone %t, left %v", c.gone(), c.requests())
			}
		})
	}
}

// TestAdministratorDeletesBeforeTheUser: what an administrator has deleted of the requests of a
// service is no reason to let the object go without a call of Delete, when its user deletes it then.
func TestAdministratorDeletesBeforeTheUser(t *testing.T) {
	const mcp, workload = "garden--g--mcp", "garden--g--wl"
	for name, administrator := range map[string]func(c *colony){
		"AccessRequest":              func(c *colony) { c.going(c.accessRequest(mcp)) },
		"AccessRequestToTheWorkload": func(c *colony) { c.going(c.accessRequest(workload)) },
		"AllAccessRequests": func(c *colony) {
			c.going(c.accessRequest(mcp))
			c.going(c.accessRequest(workload))
		},
		"ClusterRequest":                 func(c *colony) { c.going(c.own()) },
		"ClusterRequestAndAccessRequest": func(c *colony) { c.going(c.own()); c.going(c.accessRequest(workload)) },
		"EverythingByForce": func(c *colony) {
			c.vanish(c.accessRequest(mcp))
			c.vanish(c.accessRequest(workload))
			c.going(c.own())
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newColony(t)
			c.passes(4)
			administrator(c)
			c.deleted()
			for range 6 {
				c.passes(2)
				if c.gone() && !slices.Contains(c.called(), "Delete") {
					t.Fatalf("the object went without a call of Delete, with the events %v", c.events)
				}
				c.removeFinalizers()
			}
			c.passes(2)
			if c.calls("CreateOrUpdate", "Delete"); !c.gone() || len(c.requests()) != 0 {
				t.Errorf("gone %t, left %v, conditions %+v", c.gone(), c.requests(), c.stored.status.Conditions)
			}
			if slices.Contains(c.events, "Warning ServiceOrphaned") {
				t.Errorf("the events are %v", c.events)
			}
		})
	}
}

// TestAdministratorDeletesTheCluster: the platform has removed the cluster as well. The object says
// which request is being deleted and what helps, and its deletion waits for that.
func TestAdministratorDeletesTheCluster(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		t.Run(map[bool]string{false: "Alive", true: "Deleted"}[deleted], func(t *testing.T) {
			c := newColony(t)
			c.passes(4)
			c.going(c.own())
			c.vanish(c.accessRequest("garden--g--wl"))
			c.removed()
			if deleted {
				c.deleted()
			}
			c.passes(4)
			c.removeFinalizers()
			c.passes(2)
			c.calls("CreateOrUpdate")
			says := c.message(serviceprovider.ConditionClusterAccessReady)
			if got := c.condition(serviceprovider.ConditionClusterAccessReady); got != "False/ClusterGone" ||
				!strings.Contains(says, "ClusterRequest") || !strings.Contains(says, Finalizer) {
				t.Errorf("it says %s, %q", got, says)
			}
			if got := c.condition(serviceprovider.ConditionDeletionBlocked); (got == "True/ClusterGone") != deleted {
				t.Errorf("deletion: %s", got)
			}
			if c.gone() || c.own().DeletionTimestamp.IsZero() {
				t.Errorf("gone %t, with the ClusterRequest %+v", c.gone(), c.own().ObjectMeta)
			}
		})
	}
}
