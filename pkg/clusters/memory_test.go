package clusters

import (
	"context"
	"encoding/pem"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/pkg/test/wait"
)

var many = flag.Int("many", 2_000, "how many clusters come and go in TestMemoryIsFlat; of 10,000 a hundred bytes each are seen")

// TestMemoryIsFlat lets thousands of clusters come and go, each with an authority and
// credentials of its own, a client and a user; of every hundred one is really asked
// something. Nothing of them is left.
func TestMemoryIsFlat(t *testing.T) {
	wait.Allow(t, time.Duration(*many)*10*time.Millisecond)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"namespaces","kind":"Namespace","verbs":["get"]}]}`)
	}))
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ctrllog.SetLogger(logr.Discard()) // as every program does; otherwise each client waits for one, and is remembered
	c := NewClusterCache(clientgoscheme.Scheme, CacheOptions[*Cluster]{})
	t.Cleanup(c.Close)
	m := NewManager(c)
	goroutines := runtime.NumGoroutine()
	visit := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			// What ends contexts needs its turn: the Go runtime keeps a record of as many goroutines as there ever were at a time.
			for ; runtime.NumGoroutine() > goroutines+100; runtime.Gosched() {
				if wait.Budget(t) == 0 {
					t.Fatalf("%d goroutines are left of %d clusters", runtime.NumGoroutine()-goroutines, i)
				}
			}
			k := Key{Name: fmt.Sprint("cluster-", i)}
			u := User{Kind: "Boat", Key: k}
			config := &rest.Config{Host: server.URL, BearerToken: k.Name, TLSClientConfig: rest.TLSClientConfig{
				CAData: slices.Concat(authority, []byte("# of "+k.Name)), // another one, as far as anybody can tell
			}}
			c.Set(k, Input{RESTConfig: config, Revision: "a", Expires: time.Now().Add(time.Hour)})
			l, err := m.Get(t.Context(), u, Ref{Key: k, Revision: "a"})
			if err != nil {
				t.Fatal(err)
			}
			if i%100 == 0 {
				if err := l.Client.Client().Get(t.Context(), k, &corev1.Namespace{}); err != nil {
					t.Fatal(err)
				}
			}
			l.Release()
			c.Drop(k)
			m.ForgetCluster(k)
			m.Forget(u)
		}
	}
	heap := func() int64 {
		// What is cleaned up after one collection is collected by the next one.
		for range 3 {
			runtime.GC()
			runtime.Gosched()
		}
		var s runtime.MemStats
		runtime.ReadMemStats(&s)

		return int64(s.HeapAlloc)
	}
	visit(0, 100)
	before := heap()
	visit(100, 100+*many)
	grown := heap() - before
	for range 20 {
		grown = min(grown, heap()-before)
	}
	fmt.Printf("clusters_that_came_and_went: %d\nbytes_of_heap_grown: %d\n", *many, grown)
	if grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if len(c.known)+len(m.users)+len(m.byCluster) != 0 {
		t.Errorf("left: %d clusters, %d users", len(c.known), len(m.users))
	}
}

// TestRequestsAreCountedNoMore: a server that nobody has a client of any more is not in the
// metrics of the program; others are, and so is one that somebody else asks as well.
func TestRequestsAreCountedNoMore(t *testing.T) {
	server := httptest.NewServer(nodes)
	defer server.Close()
	config := func(host string) *rest.Config {
		return &rest.Config{Host: host, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		}}
	}
	asks := func(c client.Client) {
		t.Helper()
		if err := c.Get(t.Context(), Key{Name: "n"}, &corev1.Node{}); err != nil {
			t.Fatal(err)
		}
	}
	visited := func(host string) *Cluster {
		t.Helper()
		c := New(host).WithRESTConfig(config(host))
		if err := c.InitializeClient(clientgoscheme.Scheme); err != nil {
			t.Fatal(err)
		}
		asks(c.Client())

		return c
	}
	own, err := client.New(config("home.example"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asks(own)
	all := map[string][]*Cluster{}
	for _, host := range []string{"lone.example", "shared.example:80", "shared.example:80", "home.example"} {
		all[host] = append(all[host], visited(host))
	}
	for _, step := range []struct {
		host string
		i    int
		want bool
		why  string
	}{
		{"lone.example", 0, false, "nobody else has a client"},
		{"shared.example:80", 0, true, "another one is open"},
		{"shared.example:80", 0, true, "to close one again is not to close the other"},
		{"shared.example:80", 1, false, "it was the last one"},
		{"home.example", 0, true, "it was counted before there was a Cluster"},
	} {
		if !counted(step.host) {
			t.Fatalf("requests to %s are not counted", step.host)
		}
		all[step.host][step.i].Close()
		if counted(step.host) != step.want {
			t.Errorf("%s is closed, and counted: want %t, since %s", step.host, step.want, step.why)
		}
	}
	for host := range all {
		if requests.hosts[host] != nil {
			t.Errorf("something is known of %s", host)
		}
	}
	again := visited("lone.example")
	if err := again.InitializeClient(clientgoscheme.Scheme); err != nil {
		t.Fatal(err)
	}
	asks(again.Client())
	again.Close()
	if counted("lone.example") {
		t.Error("it was initialized twice, and is still counted")
	}
	New("nowhere").WithRESTConfig(&rest.Config{}).Close()
}
