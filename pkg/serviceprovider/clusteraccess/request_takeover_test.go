package clusteraccess

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// A legacy is how the requests for an object look that another program has left.
type legacy struct {
	controller string
	mcp        string // name of the AccessRequest for the control plane
	workload   string // name of both requests for the workload cluster
	purpose    func(request reconcile.Request, id string) string
	annotated  bool
	bare       bool // without the labels that name the object
	apart      bool // in the namespace that lib/clusteraccess/advanced has by default
}

// place returns the namespace of the requests.
func (l legacy) place(request reconcile.Request) string {
	if l.apart {
		return strings.TrimPrefix(StableNamespace(request), "mcp--")
	}

	return StableNamespace(request)
}

// upstreamPurpose is how the library of the platform labels its requests: lib/clusteraccess of
// openmcp-operator v0.20.0 and of a131d2f.
func upstreamPurpose(request reconcile.Request, id string) string {
	return request.Namespace + "." + request.Name + "." + id
}

// legacies are what other programs leave. The long names are as the library of the platform
// shortens them: its hash of "example" is epgccknc.
var legacies = map[string]struct {
	object string
	legacy
}{
	"Upstream": {"g", legacy{
		controller: "garden", mcp: "garden--g--mcp", workload: "garden--g--wl",
		purpose: upstreamPurpose,
	}},
	"UpstreamUpperCase": {"g", legacy{
		controller: "Garden", mcp: "garden--g--mcp", workload: "garden--g--wl",
		purpose: upstreamPurpose,
	}},
	"UpstreamAdvanced": {"g", legacy{
		controller: "garden", mcp: "garden--g--mcp", workload: "garden--g--wl",
		purpose: upstreamPurpose, bare: true,
	}},
	"UpstreamAdvancedNamespace": {"g", legacy{
		controller: "garden", mcp: "garden--g--mcp", workload: "garden--g--wl",
		purpose: upstreamPurpose, bare: true, apart: true,
	}},
	"UpstreamLong": {"long-long-long-long-long-long-long-long-name", legacy{
		controller: "messaging-service",
		mcp:        "messaging-service--long-long-long-long-long-long--jyxt6twn--mcp",
		workload:   "messaging-service--long-long-long-long-long-long---jyxt6twn--wl",
		purpose:    upstreamPurpose,
	}},
	"Earlier": {"g", legacy{
		controller: "garden", mcp: "garden--g--mcp", workload: "garden--g--workload", annotated: true,
		purpose: func(_ reconcile.Request, id string) string { return id },
	}},
	"EarlierLong": {"long-long-long-long-long-long-long-long-name", legacy{
		controller: "messaging-service",
		mcp:        bounded("messaging-service--long-long-long-long-long-long-long-long-name--mcp"),
		workload:   bounded("messaging-service--long-long-long-long-long-long-long-long-name--workload"),
		annotated:  true, purpose: func(_ reconcile.Request, id string) string { return id },
	}},
}

// inherits makes a colony with an object and the requests that another program has left for
// it. Its status is that program's: there is no condition of ours.
func inherits(t *testing.T, object string, l legacy) *colony {
	t.Helper()
	c := newColony(t)
	c.name, c.place = l.controller, l.place
	c.request = reconcile.Request{NamespacedName: client.ObjectKey{Namespace: c.request.Namespace, Name: object}}
	c.stored.Name, c.stored.Finalizers = object, []string{c.stored.Finalizer()}
	mcp := &clustersv1alpha1.ClusterRequest{ObjectMeta: metav1.ObjectMeta{Namespace: StableNamespace(c.request),
		Name: object}}
	mcp.Spec.Purpose = "mcp"
	if object != "g" {
		c.create(mcp)
	}
	cr := &clustersv1alpha1.ClusterRequest{ObjectMeta: l.meta(c.request, l.workload, "workload")}
	cr.Spec.Purpose = "workload"
	c.create(cr)
	for id, to := range map[string]string{"mcp": object, "workload": cr.Name} {
		ar := &clustersv1alpha1.AccessRequest{ObjectMeta: l.meta(c.request,
			map[string]string{"mcp": l.mcp, "workload": l.workload}[id], id)}
		ar.Spec.Token = &clustersv1alpha1.TokenConfig{
			Permissions: []clustersv1alpha1.PermissionsRequest{}, RoleRefs: token.RoleRefs,
		}
		ar.Spec.RequestRef = &clustersv1alpha1.ObjectReference{
			Namespace: map[string]string{"mcp": mcp.Namespace, "workload": cr.Namespace}[id],
			Name:      to,
		}
		c.create(ar)
	}
	c.grant()
	c.restart()

	return c
}

func (l legacy) meta(request reconcile.Request, name, id string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: l.place(request), Name: name, Finalizers: []string{Finalizer},
		Labels: map[string]string{LabelManagedBy: l.controller, LabelManagedPurpose: l.purpose(request, id)},
	}
	of := map[string]string{LabelOnboardingName: request.Name, LabelOnboardingNamespace: request.Namespace}
	for key, value := range of {
		if !l.bare {
			m.Labels[key] = value
		}
	}
	if l.annotated {
		m.Annotations = of
	}

	return m
}

// sorted returns the kinds and names of all requests, sorted.
func (c *colony) sorted() []string { return slices.Sorted(slices.Values(c.requests())) }

// calls compares what the domain was called with.
func (c *colony) calls(want ...string) {
	c.Helper()
	if diff := cmp.Diff(want, c.called()); diff != "" {
		c.Errorf("calls of the domain: -want +got:\n%s", diff)
	}
}

// TestTakeover: what another program has asked for is used, and given back in the end. Nothing
// is asked for a second time, and no access is interrupted.
func TestTakeover(t *testing.T) {
	for name, tc := range legacies {
		t.Run(name, func(t *testing.T) {
			c := inherits(t, tc.object, tc.legacy)
			before := c.sorted()
			c.passes(1)
			c.calls("CreateOrUpdate")
			if diff := cmp.Diff(before, c.sorted()); diff != "" {
				t.Errorf("requests: -before +after:\n%s", diff)
			}
			c.deleted()
			c.passes(8)
			c.calls("CreateOrUpdate", "Delete")
			if !c.gone() || len(c.requests()) != 0 {
				t.Errorf("gone %t, left %v, conditions %+v", c.gone(), c.requests(), c.stored.status.Conditions)
			}
		})
	}
}

// TestTakeoverOfDeletion: the object is being deleted when it is taken over.
func TestTakeoverOfDeletion(t *testing.T) {
	for name, tc := range legacies {
		t.Run(name, func(t *testing.T) {
			c := inherits(t, tc.object, tc.legacy)
			c.deleted()
			c.passes(1)
			c.calls("Delete")
			c.passes(8)
			if c.calls("Delete"); !c.gone() || len(c.requests()) != 0 {
				t.Errorf("gone %t, left %v, conditions %+v", c.gone(), c.requests(), c.stored.status.Conditions)
			}
		})
	}
}

// others is a finalizer of the platform on a request.
const others = "example.org/platform"

// going deletes a request, which the platform keeps for a while.
func (c *colony) going(o client.Object) {
	c.Helper()
	o.SetFinalizers([]string{Finalizer, others})
	for _, err := range []error{c.platform.Update(c.Context(), o), c.platform.Delete(c.Context(), o)} {
		if err != nil {
			c.Fatal(err)
		}
	}
}

// vanish deletes a request that nothing keeps.
func (c *colony) vanish(o client.Object) {
	c.Helper()
	o.SetFinalizers(nil)
	for _, err := range []error{c.platform.Update(c.Context(), o), c.platform.Delete(c.Context(), o)} {
		if err != nil {
			c.Fatal(err)
		}
	}
}

// removeFinalizers removes the finalizer of the platform from requests that are being deleted.
func (c *colony) removeFinalizers() {
	c.Helper()
	for _, ar := range c.accessRequests() {
		ar.Finalizers = []string{Finalizer}
		if err := c.platform.Update(c.Context(), &ar); err != nil {
			c.Fatal(err)
		}
	}
	for _, cr := range c.clusterRequests() {
		if cr.DeletionTimestamp.IsZero() {
			continue
		}
		cr.Finalizers = []string{Finalizer}
		if err := c.platform.Update(c.Context(), &cr); err != nil {
			c.Fatal(err)
		}
	}
}

// TestTakeoverOfWithdrawal: the program before has called Delete, and is giving access back. That
// is finished: Delete is not called again, and access is not asked for again. If this runtime has
// recorded before that the service was created, an administrator may have deleted the requests:
// then Delete is called.
func TestTakeoverOfWithdrawal(t *testing.T) {
	const workload = "garden--g--wl"
	for name, tc := range map[string]struct {
		going, gone []string // AccessRequests
		request     bool     // the ClusterRequest is going
	}{
		"BothAreGoing":          {going: []string{"garden--g--mcp", workload}},
		"OneIsGone":             {going: []string{"garden--g--mcp"}, gone: []string{workload}},
		"OneIsGoneTheOtherWay":  {going: []string{workload}, gone: []string{"garden--g--mcp"}},
		"OneIsGoingInPart":      {going: []string{"garden--g--mcp"}, gone: []string{workload}, request: true},
		"ClusterRequestIsGoing": {gone: []string{"garden--g--mcp", workload}, request: true},
	} {
		for status, conditions := range statuses {
			t.Run(name+"/"+status, func(t *testing.T) {
				c := inherits(t, "g", legacies["Upstream"].legacy)
				c.stored.status.Conditions = slices.Clone(conditions)
				c.deleted()
				for _, ar := range c.accessRequests() {
					switch {
					case slices.Contains(tc.going, ar.Name):
						c.going(&ar)
					case slices.Contains(tc.gone, ar.Name):
						c.vanish(&ar)
					}
				}
				for _, cr := range c.clusterRequests() {
					if cr.Name == workload && tc.request {
						c.going(&cr)
					}
				}
				before := c.sorted()
				var want []string
				if c.condition(serviceprovider.ConditionServiceCreated) != "" {
					want = []string{"Delete"}
				}
				c.passes(4)
				if c.gone() {
					t.Error("the object is gone before what was asked for")
				}
				if diff := cmp.Diff(before, c.sorted()); diff != "" && want == nil {
					t.Errorf("requests while they go: -before +after:\n%s", diff)
				}
				for range 3 { // the ClusterRequest after the AccessRequests
					c.removeFinalizers()
					c.passes(2)
				}
				c.passes(4)
				if c.calls(want...); !c.gone() || len(c.requests()) != 0 {
					t.Errorf("gone %t, left %v, conditions %+v", c.gone(), c.requests(), c.stored.status.Conditions)
				}
			})
		}
	}
}

// TestReadyOutweighsWhatIsOutOfDate: the runtime before has made the service while Moorage was away. Its
// conditions stayed as they were, and say that there is nothing. If a request is removed then, Delete is
// called all the same.
func TestReadyOutweighsWhatIsOutOfDate(t *testing.T) {
	for name, stale := range map[string]metav1.Condition{
		"NotCreated": {
			Type: serviceprovider.ConditionServiceCreated, Status: metav1.ConditionFalse,
			Reason: serviceprovider.ReasonNotCreated,
		},
		"NoAccess": {
			Type: serviceprovider.ConditionClusterAccessReady, Status: metav1.ConditionFalse,
			Reason: serviceprovider.ReasonWaitingForClusterAccess,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := inherits(t, "g", legacies["Upstream"].legacy)
			c.stored.status.Conditions = append(slices.Clone(statuses["UpstreamStatus"]), stale)
			for _, ar := range c.accessRequests() {
				if ar.Name == "garden--g--mcp" {
					c.vanish(&ar)
				}
			}
			c.deleted()
			c.passes(8)
			if c.calls("Delete"); !c.gone() {
				t.Errorf("want it gone, got %+v", c.stored.status.Conditions)
			}
		})
	}
}

// TestWithdrawalOfOneCluster: a ClusterRequest that is deleted while there is access to the other
// cluster is no withdrawal: Delete is called.
func TestWithdrawalOfOneCluster(t *testing.T) {
	c := inherits(t, "g", legacies["Upstream"].legacy)
	c.deleted()
	for _, ar := range c.accessRequests() {
		if ar.Name == "garden--g--wl" {
			c.vanish(&ar)
		}
	}
	for _, cr := range c.clusterRequests() {
		if cr.Name == "garden--g--wl" {
			c.going(&cr)
		}
	}
	c.passes(4)
	c.calls("Delete")
}

// TestTakeoverIsStored: labels and annotations become ours in one patch, once; those that the
// library of the platform looks at stay as it has them, so that it can take over again.
func TestTakeoverIsStored(t *testing.T) {
	for name, tc := range legacies {
		t.Run(name, func(t *testing.T) {
			c := inherits(t, tc.object, tc.legacy)
			c.passes(1)
			versions := map[string]string{}
			for _, ar := range c.accessRequests() {
				id := map[bool]string{true: "mcp", false: "workload"}[ar.Name == tc.mcp]
				want := map[string]string{
					LabelManagedBy: tc.controller, LabelManagedPurpose: upstreamPurpose(c.request, id),
					LabelOnboardingName: c.request.Name, LabelOnboardingNamespace: c.request.Namespace,
				}
				if diff := cmp.Diff(want, ar.Labels); diff != "" {
					t.Errorf("labels of %s: -want +got:\n%s", ar.Name, diff)
				}
				if objectOf(&ar) != c.request || ar.Annotations[LabelOnboardingName] != c.request.Name {
					t.Errorf("%s does not lead back to the object: %v", ar.Name, ar.Annotations)
				}
				versions[ar.Name] = ar.ResourceVersion
			}
			c.passes(3)
			for _, ar := range c.accessRequests() {
				if versions[ar.Name] != ar.ResourceVersion {
					t.Errorf("%s was written again", ar.Name)
				}
			}
		})
	}
}

// TestPausedIsNotTakenOver: what a user wants to be left alone keeps what it has.
func TestPausedIsNotTakenOver(t *testing.T) {
	c := inherits(t, "g", legacies["Earlier"].legacy)
	c.stored.Annotations = map[string]string{"openmcp.cloud/operation": "ignore"}
	before := c.accessRequests()
	c.passes(2)
	c.calls()
	if diff := cmp.Diff(before, c.accessRequests()); diff != "" {
		t.Errorf("requests: -before +after:\n%s", diff)
	}
}

// TestNamesAreUpstreams: requests are named as the library of the platform names them, so that
// it finds them.
func TestNamesAreUpstreams(t *testing.T) {
	for name, tc := range legacies {
		if !strings.HasPrefix(name, "Upstream") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := inherits(t, tc.object, tc.legacy)
			var want []string
			for _, o := range c.accessRequests() {
				want = append(want, o.Name)
				o.Finalizers = nil
				if err := c.platform.Update(context.Background(), &o); err != nil {
					t.Fatal(err)
				}
				if err := c.platform.Delete(context.Background(), &o); err != nil {
					t.Fatal(err)
				}
			}
			c.passes(3)
			var got []string
			for _, o := range c.accessRequests() {
				got = append(got, o.Name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("names: -want +got:\n%s", diff)
			}
		})
	}
}
