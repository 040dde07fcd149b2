package connect

import (
	"context"
	"encoding/pem"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A fakeAPI is an API with one Cluster and its Secret. It is used by one goroutine.
type fakeAPI struct {
	*testing.T

	r             *reconciler
	cache         *clusters.Cache[*clusters.Cluster]
	current       *clustersv1alpha1.Cluster // nil when it is gone
	secret        *corev1.Secret
	server        *httptest.Server
	sendsRequests bool // over the network

	connections atomic.Int32 // connections to the server
	clients     int          // clients less those that were closed
	writes      int
}

// newFakeAPI returns an API without a Cluster, and a reconciler.
func newFakeAPI(t *testing.T) *fakeAPI {
	t.Helper()
	p := &fakeAPI{T: t, server: httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.Header.Get("Authorization"), "Bearer no-response"):
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"gitVersion":"v1.0.0","platform":"linux/arm"}`)
		}
	}))}
	p.server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			p.connections.Add(1)
		case http.StateClosed:
			p.connections.Add(-1)
		default:
		}
	}
	p.server.StartTLS()
	t.Cleanup(p.server.Close)
	p.cache = clusters.NewCache(func(_ context.Context, key clusters.Key, in clusters.Input) (*clusters.Cluster, error) {
		p.clients++

		return clusters.New(key.String()).WithRESTConfig(in.RESTConfig), nil
	}, clusters.CacheOptions[*clusters.Cluster]{Close: func(*clusters.Cluster) { p.clients-- }})
	t.Cleanup(p.cache.Close)
	api := test.NewMockClient()
	api.MockGet = p.get
	api.MockStatusPatch = func(
		_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption,
	) error {
		p.writes++
		o.SetResourceVersion(fmt.Sprint(p.writes))
		p.current, _ = o.DeepCopyObject().(*clustersv1alpha1.Cluster)

		return nil
	}
	p.r = newReconciler(api, api, p.cache, options{
		logger: logging.NewNopLogger(), recorder: event.NewNopRecorder(), clock: clock.RealClock{},
		recheckInterval: time.Nanosecond, probeInterval: time.Nanosecond,
	})
	p.r.request = func(ctx context.Context, known *record, path string) ([]byte, error) {
		if p.sendsRequests {
			return sendRequest(ctx, known, path)
		}
		if strings.HasPrefix(known.input.RESTConfig.BearerToken, "no-response") {
			return nil, errors.New("it does not answer")
		}

		return nil, nil
	}

	return p
}

// get implements Get of a client.
func (p *fakeAPI) get(_ context.Context, key client.ObjectKey, o client.Object) error {
	switch o := o.(type) {
	case *clustersv1alpha1.Cluster:
		if p.current == nil {
			return kerrors.NewNotFound(schema.GroupResource{}, key.Name)
		}
		p.current.DeepCopyInto(o)
	case *corev1.Secret:
		p.secret.DeepCopyInto(o)
	}

	return nil
}

// createCluster creates a Cluster with a kubeconfig, and reconciles it.
func (p *fakeAPI) createCluster(key clusters.Key, uid types.UID, kubeconfig []byte) {
	p.Helper()
	p.writes++
	p.current = newCluster(key.Namespace, key.Name)
	p.current.UID, p.current.Generation, p.current.ResourceVersion = uid, 1, fmt.Sprint(p.writes)
	p.setKubeconfig(key, kubeconfig)
}

// setKubeconfig replaces the Secret, and reconciles the Cluster.
func (p *fakeAPI) setKubeconfig(key clusters.Key, kubeconfig []byte) {
	p.Helper()
	p.writes++
	p.secret = &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: fmt.Sprint(p.writes)},
		Data:       map[string][]byte{"kubeconfig": kubeconfig},
	}
	p.reconcile(key)
}

// removeCluster removes the Cluster, or sets its deletion timestamp, and reconciles it.
func (p *fakeAPI) removeCluster(key clusters.Key, seen bool) {
	p.Helper()
	if !seen {
		p.current = nil
	} else {
		p.current.DeletionTimestamp = new(metav1.Now())
	}
	p.reconcile(key)
}

// reconcile runs one pass.
func (p *fakeAPI) reconcile(key clusters.Key) {
	p.Helper()
	if _, err := p.r.Reconcile(p.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		p.Fatal(err)
	}
}

// kubeconfig returns a kubeconfig of the server.
func (p *fakeAPI) kubeconfig(token string) []byte {
	p.Helper()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	out, err := clusters.New("c").WithRESTConfig(&rest.Config{
		Host: p.server.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: authority},
	}).WriteKubeconfig()
	if err != nil {
		p.Fatal(err)
	}

	return out
}

// useConnection returns a lease on the connection, whose user has got the status 401.
func (p *fakeAPI) useConnection(key clusters.Key) clusters.Lease[*clusters.Cluster] {
	p.Helper()
	lease, err := p.cache.Acquire(p.Context(), key)
	if err != nil {
		p.Fatal(err)
	}
	if _, err := lease.Client.RESTConfig().WrapTransport(rejectingTransport{}).RoundTrip(&http.Request{}); err != nil {
		p.Fatal(err)
	}

	return lease
}

// rejectingTransport is a server that rejects all credentials.
type rejectingTransport struct{}

// RoundTrip responds with the status 401.
func (rejectingTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody}, nil
}

// counts counts the state that is kept of clusters.
func (p *fakeAPI) counts(key clusters.Key) map[string]int {
	p.r.unauthorized.mu.Lock()
	defer p.r.unauthorized.mu.Unlock()
	of := map[string]int{
		"records": p.r.records.Len(), "pending": len(p.r.unauthorized.pending), "reported": len(p.r.unauthorized.last),
		"clients": p.clients,
	}
	if _, known := p.cache.Known(key); known {
		of["connections"]++
	}

	return of
}

// expect fails the test unless a count is n.
func (p *fakeAPI) expect(key clusters.Key, what string, n int) {
	p.Helper()
	if got := p.counts(key); got[what] != n {
		p.Fatalf("%s: want %d %s, got %v", key, n, what, got)
	}
}

var many = flag.Int(
	"many", 1_000, "how many clusters come and go in TestMemoryIsFlat; of 10,000 a few hundred bytes each are seen")

// TestMemoryIsFlat creates and removes clusters, with connections that are used, rejected
// and replaced; with invalid credentials; without a response; and with the names of
// clusters before. Nothing of them stays in memory or on the network.
func TestMemoryIsFlat(t *testing.T) {
	p := newFakeAPI(t)
	goroutines, heap := 0, int64(0)
	wait.Allow(t, time.Duration(*many)*20*time.Millisecond)
	for i := range *many {
		if i == *many/10 {
			goroutines, heap = runtime.NumGoroutine(), heapInUse()
		}
		p.sendsRequests = i%100 < 4 // one of each kind
		key := clusters.Key{Namespace: "default", Name: fmt.Sprint("cluster-", i)}
		uid := types.UID(fmt.Sprint("uid-", i))
		switch i % 4 {
		case 0:
			p.createCluster(key, uid, p.kubeconfig("first"))
			p.reconcile(key) // a probe
			first := p.useConnection(key)
			p.expect(key, "pending", 1)
			p.setKubeconfig(key, p.kubeconfig("second"))
			if !errors.Is(context.Cause(first.Context), clusters.ErrReplaced) {
				t.Fatalf("want the lease ended, got %v", context.Cause(first.Context))
			}
			first.Release()
			second := p.useConnection(key)
			p.expect(key, "reported", 1)
			p.expect(key, "clients", 1)
			p.expect(key, "connections", 1)
			p.removeCluster(key, false)
			second.Release()
		case 1:
			p.createCluster(key, uid, []byte("a: b: c"))
			p.expect(key, "connections", 0)
			p.removeCluster(key, true)
		case 2:
			p.createCluster(key, uid, p.kubeconfig("no-response"))
			p.expect(key, "connections", 0)
			p.removeCluster(key, false)
		case 3:
			p.createCluster(key, uid, p.kubeconfig("a"))
			p.createCluster(key, uid+"-again", p.kubeconfig("b")) // without a pass in between
			p.expect(key, "connections", 1)
			p.expect(key, "records", 1)
			p.removeCluster(key, true)
		}
		for name, n := range p.counts(key) {
			if n != 0 {
				t.Fatalf("%s: %d are left of cluster %d", name, n, i)
			}
		}
	}
	p.expectConnectionsClosed()
	wait.Until(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+20 })
	grown := heapInUse() - heap
	for range 20 { // other goroutines of the process may allocate meanwhile
		grown = min(grown, heapInUse()-heap)
	}
	fmt.Printf("connected_clusters_that_came_and_went: %d\nbytes_of_heap_grown: %d\n", *many, grown)
	if grown > 4<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// expectConnectionsClosed waits until no connection to the server is open. The client
// closes unreferenced ones after 90 seconds, so there is less time than that. It counts
// polls instead of time: a suspended machine does not poll.
func (p *fakeAPI) expectConnectionsClosed() {
	p.Helper()
	const pause, most = 10 * time.Millisecond, 75 * time.Second
	for range most / pause {
		if p.connections.Load() == 0 {
			return
		}
		<-time.After(pause)
	}
	p.Errorf("%d connections to the server are left", p.connections.Load())
}

// heapInUse returns the size of the heap after garbage collection.
func heapInUse() int64 {
	for range 3 { // objects with cleanups are collected one cycle later
		runtime.GC()
		runtime.Gosched()
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)

	return int64(s.HeapAlloc)
}
