package clusteraccess

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// Quiet watches begin, and tell nothing.
type quiet struct{}

func (quiet) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return watch.NewRaceFreeFake(), nil
}

// A clerk is a platform without a store for anything but AccessRequests. Every ClusterRequest
// is granted, and every Secret is there, with the same kubeconfig. It is used by one goroutine.
type clerk struct {
	client.Client // for its scheme

	requests   map[client.ObjectKey]*clustersv1alpha1.AccessRequest
	kubeconfig []byte
}

var accessRequests = clustersv1alpha1.GroupVersion.WithResource("accessrequests").GroupResource()

func (c *clerk) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *clustersv1alpha1.ClusterRequest:
		o.Status.Phase = clustersv1alpha1.RequestGranted
	case *corev1.Secret:
		o.Namespace, o.Name, o.UID, o.ResourceVersion = key.Namespace, key.Name, "1", "1"
		o.Data = map[string][]byte{keyKubeconfig: c.kubeconfig}
	case *clustersv1alpha1.AccessRequest:
		found := c.requests[key]
		if found == nil {
			return kerrors.NewNotFound(accessRequests, key.Name)
		}
		found.DeepCopyInto(o)
	}

	return nil
}

func (c *clerk) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if ar, ok := o.(*clustersv1alpha1.AccessRequest); ok {
		c.requests[client.ObjectKeyFromObject(ar)] = ar.DeepCopy()
	}

	return nil
}

func (c *clerk) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	c.requests[client.ObjectKeyFromObject(o)].DeletionTimestamp = new(metav1.Now())

	return nil
}

// Patch is how the last finalizer goes, and the object with it.
func (c *clerk) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	if len(o.GetFinalizers()) == 0 {
		delete(c.requests, client.ObjectKeyFromObject(o))
	}

	return nil
}

// answer gives a phase to an AccessRequest.
func (c *clerk) answer(key client.ObjectKey, phase string) {
	ar := c.requests[key]
	ar.Status.Phase, ar.ResourceVersion = phase, phase
	ar.Status.SecretRef = &clustersv1alpha1.LocalObjectReference{Name: "granted"}
}

// held counts what is known of objects.
func (r *Requester) held() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := map[string]int{
		"grants": len(r.grants), "waiting": len(r.waiting), "followed": len(r.secrets.followed),
		"doubted": len(r.secrets.stale),
	}
	for key := range r.grants {
		if _, known := r.cache.Known(key); known {
			of["connections"]++
		}
	}

	return of
}

// TestNothingIsLeft: objects come and go, with a connection, with credentials that are of no
// use, and with access that was taken away; their Secrets are followed, and in doubt. Nothing
// of them is kept.
func TestNothingIsLeft(t *testing.T) {
	good := kubeconfig(t, "https://east.example")
	c := &clerk{
		Client:   fake.NewClientBuilder().WithScheme(scheme).Build(),
		requests: map[client.ObjectKey]*clustersv1alpha1.AccessRequest{},
	}
	build := func(_ context.Context, key clusters.Key, in clusters.Input) (*clusters.Cluster, error) {
		return clusters.New(key.String()).WithRESTConfig(in.RESTConfig), nil
	}
	r, err := New(clusters.NewTestClusterFromClient("platform", c), "Garden", []Registration{MCP(scheme, token)},
		WithBuild(build))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.secrets.follower = credentials.NewFollower(quiet{})
	defer r.secrets.follower.Close()

	for i := range many {
		request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "gardens", Name: fmt.Sprint("g-", i)}}
		key := client.ObjectKeyFromObject(r.newAccessRequest(r.registered[0], request))
		flawed, denied := i%3 == 1, i%3 == 2
		if c.kubeconfig = good; flawed {
			c.kubeconfig = []byte("a: b: c")
		}
		if _, err := r.Reconcile(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		c.answer(key, clustersv1alpha1.RequestGranted)
		if _, err := r.Reconcile(t.Context(), request); flawed != errors.Is(err, clusters.ErrInvalidKubeconfig) ||
			!flawed && err != nil {
			t.Fatal(err)
		}
		if _, err := r.Access(t.Context(), request, serviceprovider.ClusterMCP); flawed != (err != nil) {
			t.Fatal(err)
		}
		r.markStale(key)
		if got := r.held(); got["grants"] != 1 || got["waiting"] != 1 || got["followed"] != 1 ||
			got["doubted"] != 1 || !flawed && got["connections"] != 1 {
			t.Fatalf("want one of each while object %d is there, got %v", i, got)
		}
		if denied {
			c.answer(key, clustersv1alpha1.RequestDenied)
			if _, err := r.Reconcile(t.Context(), request); !errors.Is(err, serviceprovider.ErrAccessDenied) {
				t.Fatal(err)
			}
		}
		for {
			result, err := r.ReconcileDelete(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if result.RequeueAfter == 0 {
				break
			}
		}
		if _, known := r.cache.Known(key); known {
			t.Fatalf("the connection of object %d is left", i)
		}
	}
	for what, n := range r.held() {
		if n != 0 {
			t.Errorf("%s: %d are left of %d objects", what, n, many)
		}
	}
}
