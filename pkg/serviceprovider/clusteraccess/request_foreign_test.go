package clusteraccess

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test"
)

// A colony is a service with a reconciler and a Requester, over a platform in memory, and one
// object of it, which is stored as an API server would store it.
type colony struct {
	*testing.T

	platform client.WithWatch
	request  reconcile.Request
	stored   *hut
	service  *builder
	events   []string
	options  []Option
	name     string                         // of the controller
	alone    bool                           // there is no workload cluster
	place    func(reconcile.Request) string // namespace of the requests
	onGone   serviceprovider.DeletionPolicy

	access *Requester
	r      *serviceprovider.APIReconciler[*hut, *hutConfig]
}

func newColony(t *testing.T) *colony {
	t.Helper()
	request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "project", Name: "g"}}
	c := &colony{
		T: t, request: request, service: &builder{}, name: "garden", onGone: serviceprovider.DeletionBlock,
		platform: fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&clustersv1alpha1.AccessRequest{},
			&clustersv1alpha1.ClusterRequest{}).Build(),
		stored: &hut{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name, UID: "1"}},
	}
	mcp := &clustersv1alpha1.ClusterRequest{ObjectMeta: metav1.ObjectMeta{Namespace: StableNamespace(request),
		Name: request.Name}}
	mcp.Spec.Purpose = "mcp"
	c.create(mcp)
	c.restart()

	return c
}

// Event records the type and the reason of an event.
func (c *colony) Event(_ runtime.Object, e event.Event) {
	c.events = append(c.events, string(e.Type)+" "+string(e.Reason))
}

func (c *colony) WithAnnotations(...string) event.Recorder { return c }

// restart makes a new process.
func (c *colony) restart() {
	c.Helper()
	if c.access != nil {
		c.access.Close()
	}
	platform := clusters.NewTestClusterFromClient("platform", c.platform)
	registered := []Registration{MCP(scheme, token), Workload(scheme, token)}
	for i := range registered {
		registered[i].Namespace = c.place
	}
	if c.alone {
		registered = registered[:1]
	}
	var err error
	if c.access, err = New(platform, c.name, registered, c.options...); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(c.access.Close)
	c.r, err = serviceprovider.NewAPIReconcilerBuilder[*hut, *hutConfig]().
		EmptyObjectProvider(func() *hut { return &hut{} }).
		OnboardingCluster(clusters.NewTestClusterFromClient("onboarding",
			c.onboarding())).PlatformCluster(platform).ClusterAccessReconciler(c.access).
		ProviderConfig(&hutConfig{}).Reconciler(c.service).WorkloadCluster(!c.alone).OnClusterGone(c.onGone).
		Recorder(c).Build()
	if err != nil {
		c.Fatal(err)
	}
}

// onboarding is a client that has the object.
func (c *colony) onboarding() client.Client {
	api := test.NewMockClient()
	api.MockGet = func(_ context.Context, key client.ObjectKey, o client.Object) error {
		if c.gone() {
			return kerrors.NewNotFound(corev1.Resource("huts"), key.Name)
		}
		*o.(*hut) = *c.stored.DeepCopyObject().(*hut)

		return nil
	}
	api.MockPatch = func(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
		c.stored = o.DeepCopyObject().(*hut)

		return nil
	}
	api.MockStatusPatch = func(_ context.Context, o client.Object, _ client.Patch,
		_ ...client.SubResourcePatchOption) error {
		c.stored = o.DeepCopyObject().(*hut)

		return nil
	}

	return api
}

// gone reports whether nothing keeps the object any more.
func (c *colony) gone() bool {
	return !c.stored.DeletionTimestamp.IsZero() && len(c.stored.Finalizers) == 0
}

func (c *colony) create(o client.Object) {
	c.Helper()
	if err := c.platform.Create(c.Context(), o); err != nil {
		c.Fatal(err)
	}
}

// passes lets the platform and the service take turns. What the service returns is for the
// requeue.
func (c *colony) passes(n int) {
	c.Helper()
	for range n {
		c.grant()
		_, _ = c.r.Reconcile(c.Context(), c.request)
	}
}

// grant answers every request: each ClusterRequest with a cluster of its own.
func (c *colony) grant() {
	c.Helper()
	must := func(err error) {
		if err != nil {
			c.Fatal(err)
		}
	}
	for _, cr := range c.clusterRequests() {
		if cr.Status.Phase == "" {
			c.create(&clustersv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: cr.Namespace, Name: cr.Name}})
			cr.Status.Phase = clustersv1alpha1.RequestGranted
			cr.Status.Cluster = &clustersv1alpha1.ObjectReference{Namespace: cr.Namespace, Name: cr.Name}
			must(c.platform.Status().Update(c.Context(), &cr))
		}
	}
	for _, ar := range c.accessRequests() {
		if ar.Status.Phase == "" {
			must(client.IgnoreAlreadyExists(c.platform.Create(c.Context(),
				&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ar.Namespace, Name: ar.Name},
					Data: map[string][]byte{
						keyKubeconfig: kubeconfig(c.T, "https://"+ar.Spec.RequestRef.Name+".example"),
						keyExpiration: []byte(time.Now().Add(time.Hour).Format(time.RFC3339)),
					}})))
			ar.Status.Phase, ar.Status.ObservedGeneration = clustersv1alpha1.RequestGranted, ar.Generation
			ar.Status.SecretRef = &clustersv1alpha1.LocalObjectReference{Name: ar.Name}
			must(c.platform.Status().Update(c.Context(), &ar))
		}
	}
}

func (c *colony) clusterRequests() []clustersv1alpha1.ClusterRequest {
	c.Helper()
	list := &clustersv1alpha1.ClusterRequestList{}
	if err := c.platform.List(c.Context(), list); err != nil {
		c.Fatal(err)
	}

	return list.Items
}

func (c *colony) accessRequests() []clustersv1alpha1.AccessRequest {
	c.Helper()
	list := &clustersv1alpha1.AccessRequestList{}
	if err := c.platform.List(c.Context(), list); err != nil {
		c.Fatal(err)
	}

	return list.Items
}

// requests returns the kinds and names of all requests but that of the control plane.
func (c *colony) requests() []string {
	c.Helper()
	var all []string
	for _, ar := range c.accessRequests() {
		all = append(all, "AccessRequest "+ar.Name)
	}
	for _, cr := range c.clusterRequests() {
		if cr.Spec.Purpose != "mcp" {
			all = append(all, "ClusterRequest "+cr.Name)
		}
	}

	return all
}

// called returns what the domain was called with, repetitions once.
func (c *colony) called() []string { return slices.Compact(slices.Clone(c.service.calls)) }

// deleted marks the object for deletion, as an API server does.
func (c *colony) deleted() {
	c.stored.DeletionTimestamp = new(metav1.Now())
}

// condition returns what a condition of the object says.
func (c *colony) condition(of string) string {
	if found := meta.FindStatusCondition(c.stored.status.Conditions, of); found != nil {
		return string(found.Status) + "/" + found.Reason
	}

	return ""
}

// TestForeignRequestBlocksDeletion: a request of another owner under the same name does not
// show that access was withdrawn: the object stays until Delete was called,
// and says what it waits for.
func TestForeignRequestBlocksDeletion(t *testing.T) {
	for name, of := range map[string]func(c *colony) client.Object{
		"AccessRequestOfTheControlPlane": func(c *colony) client.Object {
			return named(c, "--mcp",
				c.accessRequests())
		},
		"AccessRequestOfTheWorkload": func(c *colony) client.Object { return named(c, "--w", c.accessRequests()) },
		"ClusterRequest":             func(c *colony) client.Object { return named(c, "--w", c.clusterRequests()) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newColony(t)
			c.passes(4)
			if diff := cmp.Diff([]string{"CreateOrUpdate"}, c.called()); diff != "" {
				t.Fatalf("calls of the domain: -want +got:\n%s", diff)
			}
			theirs := of(c)
			labels := theirs.GetLabels()
			theirs.SetLabels(map[string]string{LabelManagedBy: "others"})
			if err := c.platform.Update(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
			c.deleted()
			c.restart()
			c.passes(4)
			if c.gone() || len(c.called()) != 1 {
				t.Fatalf("want it kept, and the domain not called: gone %t, calls %v", c.gone(), c.called())
			}
			if got := c.condition(serviceprovider.ConditionDeletionBlocked); got != "True/ClusterAccessNotOwned" {
				t.Errorf("want it said what the deletion waits for, got %q: %+v", got, c.stored.status.Conditions)
			}
			if diff := cmp.Diff([]string{"Warning DeletionBlocked"}, c.events); diff != "" {
				t.Errorf("events: -want +got:\n%s", diff)
			}
			if err := c.platform.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil ||
				!theirs.GetDeletionTimestamp().IsZero() {
				t.Errorf("somebody else's request was deleted: %v", err)
			}

			theirs.SetLabels(labels)
			if err := c.platform.Update(t.Context(), theirs); err != nil {
				t.Fatal(err)
			}
			c.passes(8)
			if diff := cmp.Diff([]string{"CreateOrUpdate", "Delete"}, c.called()); diff != "" || !c.gone() ||
				len(c.requests()) != 0 {
				t.Errorf("when the labels are corrected: gone %t, left %v, calls of the domain: -want +got:\n%s",
					c.gone(), c.requests(), diff)
			}
		})
	}
}

// named returns the request whose name has a part.
func named[T any, P interface {
	*T
	client.Object
}](c *colony, part string, all []T) client.Object {
	c.Helper()
	for i := range all {
		if strings.Contains(P(&all[i]).GetName(), part) {
			return P(&all[i])
		}
	}
	c.Fatalf("there is no request %s", part)

	return nil
}
