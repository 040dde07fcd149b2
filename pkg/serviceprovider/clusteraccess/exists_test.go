package clusteraccess

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/credentials"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// A board is a platform in memory, that answers for its clusters as a test says.
type board struct {
	*testing.T

	api     client.WithWatch // always answers
	r       *Requester
	clock   *testclock.FakePassiveClock
	request reconcile.Request

	mu   sync.Mutex
	get  error // of clusters, one at a time
	list error
	gets int          // of clusters
	read func() error // called after a Secret was read, before the result is used
}

var (
	kindOfClusters = clustersv1alpha1.GroupVersion.WithKind("Cluster")
	clusterName    = client.ObjectKey{Namespace: "platform", Name: "east"}
	errForbidden   = kerrors.NewForbidden(schema.GroupResource{Resource: "clusters"}, clusterName.Name,
		errors.New("not yours"))
	errAbsent = kerrors.NewNotFound(schema.GroupResource{Resource: "clusters"}, clusterName.Name)
	errPage   = kerrors.NewGenericServerResponse(http.StatusNotFound, http.MethodGet, schema.GroupResource{
		Group: clustersv1alpha1.GroupVersion.Group, Resource: "clusters",
	}, clusterName.Name, "404 page not found", 0, true)
	errOutage = kerrors.NewServiceUnavailable("come back later")
)

// newBoard has a cluster without requests.
func newBoard(t *testing.T) *board {
	t.Helper()
	b := &board{T: t, clock: testclock.NewFakePassiveClock(time.Now()), request: newRequest()}
	b.api = fake.NewClientBuilder().WithScheme(scheme).Build()
	b.create(&clustersv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: clusterName.Namespace,
		Name: clusterName.Name}})
	platform := clusters.NewTestClusterFromClient("platform", interceptor.NewClient(b.api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if _, ok := o.(*clustersv1alpha1.Cluster); ok {
				b.mu.Lock()
				defer b.mu.Unlock()
				if b.gets++; b.get != nil {
					return b.get
				}
			}

			err := c.Get(ctx, key, o, opts...)
			if _, ok := o.(*corev1.Secret); ok && err == nil {
				err = b.reads()
			}

			return err
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.list != nil {
				return b.list
			}

			return c.List(ctx, l, opts...)
		},
	}))
	existing := func(reconcile.Request) client.ObjectKey { return clusterName }
	reg := Registration{ID: serviceprovider.ClusterWorkload, ExistingCluster: existing, Token: token, Scheme: scheme}
	var err error
	if b.r, err = New(platform, "Garden", []Registration{reg}, WithClock(b.clock)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.r.Close)

	return b
}

func (b *board) create(o client.Object) {
	b.Helper()
	if err := b.api.Create(b.Context(), o); err != nil {
		b.Fatal(err)
	}
}

// admitted asks until access is granted, for an hour.
func (b *board) admitted() {
	b.Helper()
	if ready, err := b.asks(); ready || err != nil {
		b.Fatalf("want it to wait for access, got %t, %v", ready, err)
	}
	ar := b.r.newAccessRequest(b.r.registered[0], b.request)
	if err := b.api.Get(b.Context(), client.ObjectKeyFromObject(ar), ar); err != nil {
		b.Fatal(err)
	}
	ar.Status.Phase, ar.Status.ObservedGeneration = clustersv1alpha1.RequestGranted, ar.Generation
	ar.Status.SecretRef = &clustersv1alpha1.LocalObjectReference{Name: "granted"}
	if err := b.api.Update(b.Context(), ar); err != nil {
		b.Fatal(err)
	}
	b.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ar.Namespace, Name: "granted"},
		Data: map[string][]byte{
			keyKubeconfig: kubeconfig(b.T, "https://east.example"),
			keyExpiration: []byte(b.clock.Now().Add(time.Hour).Format(time.RFC3339)),
		}})
	if ready, err := b.asks(); !ready || err != nil {
		b.Fatalf("want access, got %t, %v", ready, err)
	}
}

func (b *board) asks() (bool, error) {
	b.Helper()
	result, err := b.r.Reconcile(b.Context(), b.request)

	return err == nil && result.RequeueAfter == 0, err
}

// says sets how the platform answers for clusters, and forgets what it was asked.
func (b *board) says(get, list error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.get, b.list, b.gets = get, list, 0
}

func (b *board) reads() error {
	b.mu.Lock()
	read := b.read
	b.read = nil
	b.mu.Unlock()
	if read == nil {
		return nil
	}

	return read()
}

// once lets something happen the next time that a Secret was read.
func (b *board) once(read func() error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read = read
}

func (b *board) asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.gets
}

// TestOutageOfThePlatform: only a cluster that is not there is gone. As long as the
// credentials are good, whatever else the platform answers is no news.
func TestOutageOfThePlatform(t *testing.T) {
	for name, tc := range map[string]struct {
		before  bool          // access was granted before
		later   time.Duration // that long ago
		get     error
		want    error
		granted bool
	}{
		"all is well":                 {before: true, granted: true},
		"it does not answer":          {before: true, get: errOutage, granted: true},
		"nothing can be reached":      {before: true, get: errors.New("connection refused"), granted: true},
		"we may not look":             {before: true, get: errForbidden, granted: true},
		"the cluster is gone":         {before: true, get: errAbsent, want: serviceprovider.ErrClusterGone},
		"the credentials are no good": {before: true, later: 2 * time.Hour, get: errOutage, want: errOutage},
		"nothing was granted":         {get: errOutage, want: errOutage},
		"a proxy answers":             {before: true, get: errPage, granted: true},
		"a proxy answers first":       {get: errPage, want: errPage},
		"nor may we look":             {get: errForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t)
			if tc.before {
				b.admitted()
			}
			b.clock.SetTime(b.clock.Now().Add(tc.later))
			b.says(tc.get, nil)
			if got, err := b.asks(); got != tc.granted || !errors.Is(err, tc.want) {
				t.Errorf("want %t and %v, got %t and %v", tc.granted, tc.want, got, err)
			}
		})
	}
}

// TestForeignAccessRequest: a request of another owner under the same name is foreign: a
// deletion neither waits for it nor changes it.
func TestForeignAccessRequest(t *testing.T) {
	b := newBoard(t)
	theirs := b.r.newAccessRequest(b.r.registered[0], b.request)
	theirs.Labels, theirs.Finalizers = map[string]string{LabelManagedBy: "others"}, nil
	b.create(theirs)
	if got, err := b.r.AccessRequest(t.Context(), b.request,
		serviceprovider.ClusterWorkload); !kerrors.IsNotFound(err) {
		t.Errorf("want none, got %v, %v", got, err)
	}
	if result, err := b.r.ReconcileDelete(t.Context(), b.request); err != nil || result.RequeueAfter != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
	if err := b.api.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs); err != nil ||
		!theirs.DeletionTimestamp.IsZero() {
		t.Errorf("somebody else's request was deleted: %v", err)
	}
}

// TestListenersMayAsk: a listener may read the grants, also when one was lost while its Secret
// was read.
func TestListenersMayAsk(t *testing.T) {
	b := newBoard(t)
	calls := 0
	b.r.cache.Listen(func(key clusters.Key) {
		b.r.mu.Lock()
		defer b.r.mu.Unlock()
		delete(b.r.grants, key)
		calls++
	})
	b.admitted()
	if calls != 2 {
		t.Errorf("want calls for a connection and for its loss, got %d", calls)
	}
}

// TestForgottenWhileItIsRead: what is forgotten while its Secret is read stays forgotten,
// whatever was read.
func TestForgottenWhileItIsRead(t *testing.T) {
	for name, flaw := range map[string]error{"it is good": nil, "it cannot be used": errors.New("not for us")} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t)
			b.r.secrets.follower = credentials.NewFollower(b.api)
			defer b.r.secrets.follower.Close()
			b.admitted()
			if len(b.r.secrets.followed) != 1 {
				t.Fatalf("want one Secret followed, got %v", b.r.secrets.followed)
			}
			key := client.ObjectKeyFromObject(b.r.newAccessRequest(b.r.registered[0], b.request))
			b.r.rewrite = func(*clustersv1alpha1.AccessRequest, *rest.Config) error {
				b.r.forget(b.request)

				return flaw
			}
			b.r.recheckGrant(t.Context(), nil, key)
			if left := b.r.allGrants(); len(left)+len(b.r.secrets.followed) != 0 {
				t.Errorf("want nothing left, got grants %v and followed Secrets %v", left, b.r.secrets.followed)
			}
			if _, known := b.r.cache.Known(key); known {
				t.Error("the connection is left")
			}
		})
	}
}

// A view is a cache that shows what a client does.
type view struct {
	*informertest.FakeInformers

	of client.Reader
}

func (v view) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	return v.of.Get(ctx, key, o, opts...)
}

// TestClustersFromTheCache: where clusters may be listed a steady pass asks for none. What
// the cache cannot tell is asked for.
func TestClustersFromTheCache(t *testing.T) {
	synced, behind := controllertest.NewFakeInformer(controllertest.Synced), controllertest.NewFakeInformer()
	for name, tc := range map[string]struct {
		informer  toolscache.SharedIndexInformer
		err, list error // of informers, of lists
		empty     bool  // the cache does not show it
		get       error
		gets      int
		want      error
	}{
		"it shows it":         {informer: synced, get: errOutage},
		"it does not show it": {informer: synced, empty: true, gets: 1},
		"it is gone": {
			informer: synced, empty: true, get: errAbsent, gets: 1,
			want: serviceprovider.ErrClusterGone,
		},
		"it is not filled yet":  {informer: behind, gets: 1},
		"there is none":         {err: errors.New("no such kind"), gets: 1},
		"we may not list":       {informer: synced, list: errForbidden, gets: 1},
		"nor look":              {informer: synced, list: errForbidden, get: errForbidden, gets: 1},
		"nobody knows just now": {informer: synced, list: errOutage, get: errOutage, gets: 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t)
			b.admitted()
			shows := interceptor.NewClient(b.api, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
					opts ...client.GetOption) error {
					if _, ok := o.(*clustersv1alpha1.Cluster); ok && tc.empty {
						return errAbsent
					}

					return c.Get(ctx, key, o, opts...)
				},
			})
			informers := map[schema.GroupVersionKind]toolscache.SharedIndexInformer{kindOfClusters: tc.informer}
			b.r.cachedReader = view{&informertest.FakeInformers{InformersByGVK: informers, Scheme: scheme,
				Error: tc.err}, shows}
			b.says(tc.get, tc.list)
			if _, err := b.asks(); !errors.Is(err, tc.want) || b.asked() != tc.gets {
				t.Errorf("want %v and %d requests, got %v and %d", tc.want, tc.gets, err, b.asked())
			}
		})
	}
}

// TestListsAreTriedOnce: who may not list clusters does not try again, but who did not get
// an answer does.
func TestListsAreTriedOnce(t *testing.T) {
	b := newBoard(t)
	for _, tc := range []struct {
		list error
		want bool
	}{{errOutage, false}, {nil, true}, {errForbidden, true}} {
		b.says(nil, tc.list)
		if got := b.r.canListClusters(t.Context()); got != tc.want {
			t.Errorf("%v: want %t, got %t", tc.list, tc.want, got)
		}
	}
	b = newBoard(t)
	for _, list := range []error{errForbidden, nil} {
		b.says(nil, list)
		if b.r.canListClusters(t.Context()) {
			t.Errorf("%v: want it to stay as it was", list)
		}
	}
}
