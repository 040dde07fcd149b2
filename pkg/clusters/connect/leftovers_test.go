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

// A pier is an API without a store for anything but the Cluster that is there just now, and
// its Secret. It is used by one goroutine.
type pier struct {
	*testing.T

	r      *reconciler
	cache  *clusters.Cache[*clusters.Cluster]
	now    *clustersv1alpha1.Cluster // nil when it is gone
	secret *corev1.Secret
	server *httptest.Server
	asked  bool // really: over the network

	open   atomic.Int32 // connections to the server
	built  int          // clients less those that were closed
	writes int
}

func newPier(t *testing.T) *pier {
	t.Helper()
	p := &pier{T: t, server: httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.Header.Get("Authorization"), "Bearer silent"):
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"gitVersion":"v1.0.0","platform":"linux/arm"}`)
		}
	}))}
	p.server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			p.open.Add(1)
		case http.StateClosed:
			p.open.Add(-1)
		default:
		}
	}
	p.server.StartTLS()
	t.Cleanup(p.server.Close)
	p.cache = clusters.NewCache(func(_ context.Context, key clusters.Key, in clusters.Input) (*clusters.Cluster, error) {
		p.built++

		return clusters.New(key.String()).WithRESTConfig(in.RESTConfig), nil
	}, clusters.CacheOptions[*clusters.Cluster]{Close: func(*clusters.Cluster) { p.built-- }})
	t.Cleanup(p.cache.Close)
	api := test.NewMockClient()
	api.MockGet = p.get
	api.MockStatusPatch = func(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
		p.writes++
		o.SetResourceVersion(fmt.Sprint(p.writes))
		p.now, _ = o.DeepCopyObject().(*clustersv1alpha1.Cluster)

		return nil
	}
	p.r = newReconciler(api, api, p.cache, options{
		logger: logging.NewNopLogger(), recorder: event.NewNopRecorder(), clock: clock.RealClock{}, recheck: time.Nanosecond, probe: time.Nanosecond,
	})
	p.r.ask = func(ctx context.Context, known *record, path string) ([]byte, error) {
		if p.asked {
			return ask(ctx, known, path)
		}
		if strings.HasPrefix(known.in.RESTConfig.BearerToken, "silent") {
			return nil, errors.New("it does not answer")
		}

		return nil, nil
	}

	return p
}

func (p *pier) get(_ context.Context, key client.ObjectKey, o client.Object) error {
	switch o := o.(type) {
	case *clustersv1alpha1.Cluster:
		if p.now == nil {
			return kerrors.NewNotFound(schema.GroupResource{}, key.Name)
		}
		p.now.DeepCopyInto(o)
	case *corev1.Secret:
		p.secret.DeepCopyInto(o)
	}

	return nil
}

// comes puts a Cluster there, with credentials, and lets it be looked at.
func (p *pier) comes(key clusters.Key, uid types.UID, kubeconfig []byte) {
	p.Helper()
	p.writes++
	p.now = newCluster(key.Namespace, key.Name)
	p.now.UID, p.now.Generation, p.now.ResourceVersion = uid, 1, fmt.Sprint(p.writes)
	p.rotated(key, kubeconfig)
}

// rotated puts other credentials there.
func (p *pier) rotated(key clusters.Key, kubeconfig []byte) {
	p.Helper()
	p.writes++
	p.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: fmt.Sprint(p.writes)}, Data: map[string][]byte{"kubeconfig": kubeconfig}}
	p.pass(key)
}

// goes takes the Cluster away: it is not seen any more, or being deleted.
func (p *pier) goes(key clusters.Key, seen bool) {
	p.Helper()
	if !seen {
		p.now = nil
	} else {
		p.now.DeletionTimestamp = new(metav1.Now())
	}
	p.pass(key)
}

func (p *pier) pass(key clusters.Key) {
	p.Helper()
	if _, err := p.r.Reconcile(p.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		p.Fatal(err)
	}
}

// kubeconfig leads to the server.
func (p *pier) kubeconfig(token string) []byte {
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

// used takes a lease on the connection, over which the server refuses whoever has it.
func (p *pier) used(key clusters.Key) clusters.Lease[*clusters.Cluster] {
	p.Helper()
	lease, err := p.cache.Acquire(p.Context(), key)
	if err != nil {
		p.Fatal(err)
	}
	if _, err := lease.Client.RESTConfig().WrapTransport(refusing{}).RoundTrip(&http.Request{}); err != nil {
		p.Fatal(err)
	}

	return lease
}

// refusing is a server that accepts no credentials.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody}, nil
}

// held counts what is known of clusters.
func (p *pier) held(key clusters.Key) map[string]int {
	p.r.refused.mu.Lock()
	defer p.r.refused.mu.Unlock()
	of := map[string]int{"records": p.r.memory.Len(), "refusals": len(p.r.refused.noted), "refusals_heeded": len(p.r.refused.told), "clients": p.built}
	if _, known := p.cache.Known(key); known {
		of["connections"]++
	}

	return of
}

func (p *pier) has(key clusters.Key, what string, n int) {
	p.Helper()
	if got := p.held(key); got[what] != n {
		p.Fatalf("%s: want %d %s, got %v", key, n, what, got)
	}
}

var many = flag.Int("many", 1_000, "how many clusters come and go in TestNothingIsLeft; of 10,000 a few hundred bytes each are seen")

// TestNothingIsLeft: clusters come and go, with connections that are used, refused and
// replaced; with credentials that are of no use; without an answer; and as namesakes of
// those before. Nothing of them is kept, neither in memory nor on the network.
func TestNothingIsLeft(t *testing.T) {
	p := newPier(t)
	goroutines, heap := 0, int64(0)
	wait.Allow(t, time.Duration(*many)*20*time.Millisecond)
	for i := range *many {
		if i == *many/10 {
			goroutines, heap = runtime.NumGoroutine(), heapNow()
		}
		p.asked = i%100 < 4 // one of each kind
		key := clusters.Key{Namespace: "sea", Name: fmt.Sprint("cluster-", i)}
		uid := types.UID(fmt.Sprint("uid-", i))
		switch i % 4 {
		case 0:
			p.comes(key, uid, p.kubeconfig("first"))
			p.pass(key) // a probe
			first := p.used(key)
			p.has(key, "refusals", 1)
			p.rotated(key, p.kubeconfig("second"))
			if !errors.Is(context.Cause(first.Context), clusters.ErrReplaced) {
				t.Fatalf("want the lease ended, got %v", context.Cause(first.Context))
			}
			first.Release()
			second := p.used(key)
			p.has(key, "refusals_heeded", 1)
			p.has(key, "clients", 1)
			p.has(key, "connections", 1)
			p.goes(key, false)
			second.Release()
		case 1:
			p.comes(key, uid, []byte("a: b: c"))
			p.has(key, "connections", 0)
			p.goes(key, true)
		case 2:
			p.comes(key, uid, p.kubeconfig("silent"))
			p.has(key, "connections", 0)
			p.goes(key, false)
		case 3:
			p.comes(key, uid, p.kubeconfig("a"))
			p.comes(key, uid+"-again", p.kubeconfig("b")) // nobody has seen that it was gone
			p.has(key, "connections", 1)
			p.has(key, "records", 1)
			p.goes(key, true)
		}
		for what, n := range p.held(key) {
			if n != 0 {
				t.Fatalf("%s: %d are left of cluster %d", what, n, i)
			}
		}
	}
	p.closed()
	wait.Until(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines+20 })
	grown := heapNow() - heap
	for range 20 { // what others of the process do just then is of no interest
		grown = min(grown, heapNow()-heap)
	}
	fmt.Printf("connected_clusters_that_came_and_went: %d\nbytes_of_heap_grown: %d\n", *many, grown)
	if grown > 4<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

// closed sees that no connection to the server is left. After a minute and a half the client
// closes what was forgotten, so there is less time than that. It is counted in looks: a
// machine that stands still does not look either.
func (p *pier) closed() {
	p.Helper()
	const pause, most = 10 * time.Millisecond, 75 * time.Second
	for range most / pause {
		if p.open.Load() == 0 {
			return
		}
		<-time.After(pause)
	}
	p.Errorf("%d connections to the server are left", p.open.Load())
}

// heapNow returns what is in use when what can be collected was.
func heapNow() int64 {
	for range 3 { // what is cleaned up after one collection is collected by the next one
		runtime.GC()
		runtime.Gosched()
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)

	return int64(s.HeapAlloc)
}
