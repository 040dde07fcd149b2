package clusteraccess

import (
	"context"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// pages is a platform behind a proxy that answers for the objects of which it is true.
func pages(of client.WithWatch, hides func(o client.Object) bool) client.WithWatch {
	return interceptor.NewClient(of, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if hides(o) {
				return kerrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet,
					schema.GroupResource{Resource: "things"}, key.Name, "404 page not found", 0, true)
			}

			return c.Get(ctx, key, o, opts...)
		},
	})
}

// TestPagesOfTheRequests: what a proxy answers for a request, or for its Secret, neither
// ends access nor a deletion.
func TestPagesOfTheRequests(t *testing.T) {
	isRequest := func(o client.Object) bool { _, ok := o.(*clustersv1alpha1.AccessRequest); return ok }
	isSecret := func(o client.Object) bool { _, ok := o.(*corev1.Secret); return ok }
	for name, tc := range map[string]struct {
		hides func(client.Object) bool
		check func(b *board)
	}{
		"a deletion waits for the request": {isRequest, func(b *board) {
			if result, err := b.r.ReconcileDelete(b.Context(), b.request); err == nil {
				b.Errorf("want an error, got %+v", result)
			}
		}},
		"a pass does not make it anew": {isRequest, func(b *board) {
			if _, err := b.asks(); err == nil {
				b.Error("want an error")
			}
		}},
		"a look at the Secret loses no grant": {isSecret, func(b *board) {
			key := client.ObjectKeyFromObject(b.r.newAccessRequest(b.r.registered[0], b.request))
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			defer q.ShutDown()
			b.r.recheckGrant(b.Context(), q, key)
			if _, known := b.r.cache.Known(key); !known || len(b.r.allGrants()) != 1 {
				b.Error("the connection is gone")
			}
		}},
		"a pass goes on with the grant": {isSecret, func(b *board) {
			b.r.markStale(client.ObjectKeyFromObject(b.r.newAccessRequest(b.r.registered[0], b.request)))
			if ready, err := b.asks(); !ready || err != nil {
				b.Errorf("want access, got %t, %v", ready, err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t)
			b.admitted()
			b.r.platform = clusters.NewTestClusterFromClient("platform", pages(b.api, tc.hides))
			tc.check(b)
		})
	}
}

// TestClusterRequestOfOthers: it is gone only if the platform says so, by its name: a
// cache that is behind, and the page of a proxy, are no reason to forget what is in a
// cluster.
func TestClusterRequestOfOthers(t *testing.T) {
	there := &clustersv1alpha1.ClusterRequest{ObjectMeta: metav1.ObjectMeta{Namespace: clusterName.Namespace,
		Name: clusterName.Name}}
	for name, tc := range map[string]struct {
		platform client.WithWatch
		cached   bool // there is a cache, which has nothing
		gone     bool
		fails    bool
	}{
		"it is there, but not in the cache": {
			platform: fake.NewClientBuilder().WithScheme(scheme).WithObjects(there).Build(),
			cached:   true,
		},
		"it is nowhere": {
			platform: fake.NewClientBuilder().WithScheme(scheme).Build(), cached: true, gone: true,
			fails: true,
		},
		"there is no cache": {
			platform: fake.NewClientBuilder().WithScheme(scheme).Build(), gone: true, fails: true,
		},
		"a proxy answers": {
			platform: pages(fake.NewClientBuilder().WithScheme(scheme).Build(),
				func(client.Object) bool { return true }), cached: true, fails: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			reg := Registration{
				ID: serviceprovider.ClusterMCP, Token: token, Scheme: scheme,
				ExistingRequest: func(reconcile.Request) client.ObjectKey { return clusterName },
			}
			r, err := New(clusters.NewTestClusterFromClient("platform", tc.platform), "Garden", []Registration{reg},
				WithClock(testclock.NewFakePassiveClock(metav1.Now().Time)))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if tc.cached {
				r.cachedReader = view{&informertest.FakeInformers{Scheme: scheme},
					fake.NewClientBuilder().WithScheme(scheme).Build()}
			}
			_, err = r.Reconcile(t.Context(), newRequest())
			if errors.Is(err, serviceprovider.ErrClusterGone) != tc.gone || (err != nil) != tc.fails {
				t.Errorf("want gone %t and an error %t, got %v", tc.gone, tc.fails, err)
			}
		})
	}
}
