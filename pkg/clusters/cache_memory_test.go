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

var many = flag.Int(
	"many", 2_000, "how many clusters come and go in TestMemoryIsFlat; of 10,000 a hundred bytes each are seen")

// TestMemoryIsFlat adds and removes thousands of clusters, each with its own CA,
// credentials, client and user; one of every hundred gets a request. Nothing of them
// stays in memory.
func TestMemoryIsFlat(t *testing.T) {
	wait.Allow(t, time.Duration(*many)*10*time.Millisecond)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(
			w,
			`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1",`+
				`"resources":[{"name":"namespaces","kind":"Namespace","verbs":["get"]}]}`)
	}))
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ctrllog.SetLogger(logr.Discard()) // as every program does; otherwise each client is kept until there is a logger
	c := NewClusterCache(clientgoscheme.Scheme, CacheOptions[*Cluster]{})
	t.Cleanup(c.Close)
	m := NewManager(c)
	goroutines := runtime.NumGoroutine()
	visit := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			// The goroutines that end contexts have to run: the runtime keeps a record of
			// the greatest number of goroutines.
			for ; runtime.NumGoroutine() > goroutines+100; runtime.Gosched() {
				if wait.Budget(t) == 0 {
					t.Fatalf("%d goroutines are left of %d clusters", runtime.NumGoroutine()-goroutines, i)
				}
			}
			k := Key{Name: fmt.Sprint("cluster-", i)}
			u := User{Kind: "App", Key: k}
			config := &rest.Config{Host: server.URL, BearerToken: k.Name, TLSClientConfig: rest.TLSClientConfig{
				CAData: slices.Concat(authority, []byte("# of "+k.Name)), // differs in its bytes
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
		// Objects with cleanups are collected one cycle later.
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
	if len(c.entries)+len(m.users)+len(m.byCluster) != 0 {
		t.Errorf("left: %d clusters, %d users", len(c.entries), len(m.users))
	}
}

// TestCloseDeletesRequestMetrics verifies that the series of a server are deleted with
// its last client, unless another client uses it.
func TestCloseDeletesRequestMetrics(t *testing.T) {
	server := httptest.NewServer(nodes)
	defer server.Close()
	config := func(host string) *rest.Config {
		return &rest.Config{Host: host, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		}}
	}
	send := func(c client.Client) {
		t.Helper()
		if err := c.Get(t.Context(), Key{Name: "n"}, &corev1.Node{}); err != nil {
			t.Fatal(err)
		}
	}
	newCluster := func(host string) *Cluster {
		t.Helper()
		c := New(host).WithRESTConfig(config(host))
		if err := c.InitializeClient(clientgoscheme.Scheme); err != nil {
			t.Fatal(err)
		}
		send(c.Client())

		return c
	}
	own, err := client.New(config("home.example"), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	send(own)
	all := map[string][]*Cluster{}
	for _, host := range []string{"lone.example", "shared.example:80", "shared.example:80", "home.example"} {
		all[host] = append(all[host], newCluster(host))
	}
	for _, step := range []struct {
		host string
		i    int
		want bool
		why  string
	}{
		{"lone.example", 0, false, "there is no other client"},
		{"shared.example:80", 0, true, "another one is open"},
		{"shared.example:80", 0, true, "to close one again is not to close the other"},
		{"shared.example:80", 1, false, "it was the last one"},
		{"home.example", 0, true, "it was counted before there was a Cluster"},
	} {
		if !hasMetrics(step.host) {
			t.Fatalf("requests to %s are not counted", step.host)
		}
		all[step.host][step.i].Close()
		if hasMetrics(step.host) != step.want {
			t.Errorf("%s is closed, and counted: want %t, since %s", step.host, step.want, step.why)
		}
	}
	for host := range all {
		if requestMetrics().hosts[host] != nil {
			t.Errorf("something is known of %s", host)
		}
	}
	second := newCluster("lone.example")
	if err := second.InitializeClient(clientgoscheme.Scheme); err != nil {
		t.Fatal(err)
	}
	send(second.Client())
	second.Close()
	if hasMetrics("lone.example") {
		t.Error("it was initialized twice, and is still counted")
	}
	New("nowhere").WithRESTConfig(&rest.Config{}).Close()
}
