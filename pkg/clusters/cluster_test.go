package clusters

import (
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

func TestCluster(t *testing.T) {
	c := New("east")
	if c.HasClient() || c.HasRESTConfig() || c.Client() != nil || c.Cluster() != nil || c.RESTConfig() != nil ||
		c.APIServerEndpoint() != "" || c.Scheme() != nil {
		t.Errorf("a new cluster has settings: %+v", c)
	}
	if _, err := c.WriteKubeconfig(); err == nil {
		t.Error("want an error, since there is nothing to write")
	}
	c.Close()
	if c.WithRESTConfig(&rest.Config{
		Host: "https://east.example", BearerToken: "t",
	}) != c || c.InitializeClient(scheme.Scheme) != nil {
		t.Fatal("cannot initialize")
	}
	if c.ID() != "east" || !c.HasClient() || !c.HasRESTConfig() || c.APIServerEndpoint() != "https://east.example" ||
		c.Scheme() != scheme.Scheme {
		t.Errorf("got %+v", c)
	}
	if c.Cluster() == nil || c.Cluster() != c.Cluster() {
		t.Error("want one cluster, and the same each time")
	}
	c.Close()
}

// TestClusterHasNoRateLimit verifies that requests are limited only if the configuration
// has a limit, and that the configuration is not changed. With the default of client-go
// the last of 400 requests would exceed the budget of the test.
func TestClusterHasNoRateLimit(t *testing.T) {
	for given, want := range map[float32]float32{0: -1, -1: -1, 7: 7} {
		config := &rest.Config{Host: "https://east.example", QPS: given}
		c := New("east").WithRESTConfig(config)
		if err := c.InitializeClient(scheme.Scheme); err != nil {
			t.Fatal(err)
		}
		if got := c.Cluster().GetConfig().QPS; got != want || config.QPS != given || c.RESTConfig() != config {
			t.Errorf("QPS %v: want %v, got %v, and %v in the configuration", given, want, got, config.QPS)
		}
	}

	server := httptest.NewServer(nodes)
	defer server.Close()
	c := New("east").WithRESTConfig(&rest.Config{Host: server.URL})
	if err := c.InitializeClient(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := wait.Context(t)
	var all sync.WaitGroup
	errs := make(chan error, 400)
	for range cap(errs) {
		all.Go(func() { errs <- c.Client().Get(ctx, client.ObjectKey{Name: "n"}, &corev1.Node{}) })
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCloseClosesConnections verifies that the server sees all connections end.
func TestCloseClosesConnections(t *testing.T) {
	open := make(chan int, 100)
	server := httptest.NewUnstartedServer(nodes)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open <- 1
		case http.StateClosed:
			open <- -1
		default:
		}
	}
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c := New("east").WithRESTConfig(&rest.Config{
		Host: server.URL, BearerToken: "t", TLSClientConfig: rest.TLSClientConfig{CAData: ca},
	})
	if err := c.InitializeClient(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	if err := c.Client().Get(t.Context(), client.ObjectKey{Name: "n"}, &corev1.Node{}); err != nil {
		t.Fatal(err)
	}
	for n := <-open; n > 0; {
		// A connection is idle some time after its response was read.
		c.Close()
		select {
		case d := <-open:
			n += d
		case <-time.After(10 * time.Millisecond):
		case <-wait.Context(t).Done():
			t.Fatalf("%d connections are still open", n)
		}
	}
}

// nodes responds as an API server that has one node.
var nodes = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer, ok := map[string]string{
		"/api":  `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1",` +
			`"resources":[{"name":"nodes","kind":"Node","namespaced":false}]}`,
		"/api/v1/nodes/n": `{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}}`,
	}[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = io.WriteString(w, answer)
})

func TestClusterWithConfigPath(t *testing.T) {
	dir := t.TempDir()
	written, err := New("east").WithRESTConfig(&rest.Config{
		Host: "https://east.example", BearerToken: "t",
	}).WriteKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, written, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{dir, path} {
		c := New("east").WithConfigPath(p)
		if err := c.InitializeRESTConfig(); err != nil || c.RESTConfig().BearerToken != "t" {
			t.Errorf("%s: got %v, %v", p, c.RESTConfig(), err)
		}
	}
	for name, c := range map[string]*Cluster{
		"no such file": New("east").WithConfigPath(filepath.Join(dir, "nothing")),
		"not inside":   New("east"),
		"bad config":   New("east").WithRESTConfig(&rest.Config{Host: "https://%zz"}),
	} {
		if err := c.InitializeClient(nil); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}

// TestWriteKubeconfig verifies that ParseKubeconfig reads the result.
func TestWriteKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		config *rest.Config
		want   string // the token, or nothing for an error
	}{
		"token":      {&rest.Config{Host: "https://east.example", BearerToken: "t"}, "t"},
		"token file": {&rest.Config{Host: "https://east.example", BearerTokenFile: file}, "from a file"},
		"no file":    {&rest.Config{Host: "https://east.example", BearerTokenFile: file + "x"}, ""},
		"plugin":     {&rest.Config{Host: "https://east.example", ExecProvider: &clientcmdapi.ExecConfig{}}, ""},
	} {
		out, err := New("east").WithRESTConfig(tc.config).WriteKubeconfig()
		if (err != nil) != (tc.want == "") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		if k, err := ParseKubeconfig(out, ""); err != nil || k.RESTConfig.BearerToken != tc.want {
			t.Errorf("%s: want the token %q, got %v, %v", name, tc.want, k, err)
		}
	}
}

func TestNewTestClusterFromClient(t *testing.T) {
	var fake client.Client = test.NewMockClient()
	c := NewTestClusterFromClient("east", fake)
	if c.Client() != fake || c.Cluster() != nil || c.RESTConfig() != nil || !c.HasClient() || c.ID() != "east" {
		t.Errorf("got %+v", c)
	}
}

func TestClusterCache(t *testing.T) {
	cache := NewClusterCache(scheme.Scheme, CacheOptions[*Cluster]{})
	defer cache.Close()
	cache.Set(key, Input{Revision: "a", RESTConfig: &rest.Config{Host: "https://east.example"}})
	got, rev, err := cache.Get(context.Background(), key)
	if err != nil || rev != "a" || got.ID() != key.String() || !strings.Contains(got.APIServerEndpoint(), "east") {
		t.Errorf("got %+v, %s, %v", got, rev, err)
	}
	cache.Set(key, Input{Revision: "b", RESTConfig: &rest.Config{Host: "https://%zz"}})
	if _, _, err := cache.Get(context.Background(), key); err == nil {
		t.Error("want an error")
	}
}
