package remote

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A proxy forwards requests to an API server, and can reject them.
type proxy struct {
	*httptest.Server

	mu             sync.Mutex
	rejects        func(path string) bool
	answersProbes  bool // forwarded probes are answered here, so that a slow server does not change the count
	rejectedProbes int  // probes that did not get through
}

// newProxy starts a proxy for an API server.
func newProxy(t testing.TB, there *rest.Config) *proxy {
	t.Helper()
	to, err := url.Parse(there.Host)
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(there.CAData)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}, ForceAttemptHTTP2: true}
	r := &proxy{rejects: func(string) bool { return false }}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = transport
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		lets, well := r.forwards(request.URL.Path)
		switch {
		case !lets:
			w.WriteHeader(http.StatusServiceUnavailable)
		case !well || !strings.HasSuffix(request.URL.Path, "/readyz"):
			proxy.ServeHTTP(w, request)
		}
	}))
	t.Cleanup(func() {
		r.Close()
		transport.CloseIdleConnections()
	})

	return r
}

// forwards reports whether a request is forwarded, and whether the proxy answers probes
// itself.
func (r *proxy) forwards(path string) (lets, well bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	closed := r.rejects(path)
	if closed && strings.HasSuffix(path, "/readyz") {
		r.rejectedProbes++
	}

	return !closed, r.answersProbes
}

// reject sets which requests are rejected, and resets the count of probes.
func (r *proxy) reject(closed func(path string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rejects, r.rejectedProbes = closed, 0
}

// count returns the number of rejected probes.
func (r *proxy) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.rejectedProbes
}

// kubeconfig returns a kubeconfig that leads to the proxy.
func (r *proxy) kubeconfig(t testing.TB, direct []byte) []byte {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
	out, err := clusters.New("proxy").WithRESTConfig(&rest.Config{
		Host: r.URL, BearerToken: config.BearerToken, TLSClientConfig: rest.TLSClientConfig{CAData: authority},
	}).WriteKubeconfig()
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// connectByProxy connects a cluster over a proxy to the first of the two servers. The
// function well verifies at the end that the cluster on the second server is not
// affected.
func (f *twoClusters) connectByProxy(
	name string, west *clustersv1alpha1.Cluster,
) (r *proxy, c *clustersv1alpha1.Cluster, well func()) {
	f.Helper()
	r = newProxy(f.T, servers[1])
	c = f.connect(name, r.kubeconfig(f.T, f.kubeconfig(1)))
	before := west.Status.Revision

	return r, c, func() {
		f.Helper()
		f.waitFor("is well", west, func() bool {
			return west.GetCondition(clustersv1alpha1.TypeHealthy).Status == metav1.ConditionTrue
		})
		got, _, err := f.cache.Get(f.Context(), client.ObjectKeyFromObject(west))
		if err != nil || west.Status.Revision != before || f.clusterUID(got.Client()) != f.clusterUID(apis[2]) {
			f.Errorf("%s was disturbed: %v, %+v", west.Name, err, west.Status)
		}
		if err := client.IgnoreNotFound(apis[0].Delete(f.Context(), c)); err != nil {
			f.Error(err)
		}
	}
}

// waitForHealth waits until a cluster is healthy, or is not, and returns the condition.
func (f *twoClusters) waitForHealth(c *clustersv1alpha1.Cluster, want metav1.ConditionStatus) commonv1.Condition {
	f.Helper()
	f.waitFor("is well: "+string(want), c, func() bool {
		return c.GetCondition(clustersv1alpha1.TypeHealthy).Status == want
	})

	return c.GetCondition(clustersv1alpha1.TypeHealthy)
}

// waitForProbes waits until a number of probes were rejected.
func (f *twoClusters) waitForProbes(r *proxy, probes int) {
	f.Helper()
	wait.Until(f, fmt.Sprintf("%d probes were turned back", probes), func() bool { return r.count() >= probes })
}

// unreachable verifies that a cluster that cannot be reached reports why, and has no
// client.
func unreachable(f *twoClusters, _, west *clustersv1alpha1.Cluster) {
	r, c, well := f.connectByProxy("unreachable", west)
	defer well()
	r.reject(func(path string) bool { return path == "/version" })
	f.setKubeconfig(c, r.kubeconfig(f.T, f.kubeconfig(1)))
	f.waitFor("is not connected", c, func() bool {
		return c.GetCondition(commonv1.TypeConnected).Reason == commonv1.ReasonConnectionUnavailable
	})
	_, _, err := f.cache.Get(f.Context(), client.ObjectKeyFromObject(c))
	if err == nil || c.Status.Error == "" || c.Status.ConnectedAt != nil {
		f.Errorf("got %v, %+v", err, c.Status)
	}
}

// arch verifies that the status has the version and the architecture of the API server.
func arch(f *twoClusters, east, west *clustersv1alpha1.Cluster) {
	for i, c := range []*clustersv1alpha1.Cluster{east, west} {
		d, err := discovery.NewDiscoveryClientForConfig(servers[i+1])
		f.Must(err)
		version, err := d.ServerVersion()
		if err != nil || c.Status.Arch == "" || !strings.HasSuffix(version.Platform, "/"+c.Status.Arch) ||
			c.Status.Version != version.GitVersion {
			f.Errorf("%s: want that of %+v, got %+v, %v", c.Name, version, c.Status, err)
		}
	}
}

// connStatus verifies that the status has the connection of its cluster.
func connStatus(f *twoClusters, east, west *clustersv1alpha1.Cluster) {
	for _, c := range []*clustersv1alpha1.Cluster{east, west} {
		healthy := f.waitForHealth(c, metav1.ConditionTrue)
		in, _ := f.cache.Known(client.ObjectKeyFromObject(c))
		s := c.Status
		if s.Revision == "" || s.Revision != string(in.Revision) || !s.ConnectedAt.Equal(&in.ConnectedAt) ||
			!s.ExpiresAt.Time.Equal(in.Expires) ||
			s.Error != "" || s.ObservedGeneration != c.Generation || healthy.ObservedGeneration != c.Generation {
			f.Errorf("%s: the status says %+v, the cache has %+v", c.Name, s, in)
		}
	}
	if east.Status.Revision == west.Status.Revision {
		f.Error("want two connections")
	}
}

// sustainedFailure verifies that a sustained failure is reported once, and that the
// connection stays.
func sustainedFailure(f *twoClusters, _, west *clustersv1alpha1.Cluster) {
	r, c, well := f.connectByProxy("failing", west)
	defer well()
	r.reject(func(string) bool { return true })
	if h := f.waitForHealth(c, metav1.ConditionFalse); h.Reason != commonv1.ReasonConnectionUnavailable ||
		h.Message == "" {
		f.Errorf("got %+v", h)
	}
	failed := r.count()
	if failed < threshold {
		f.Errorf("it was said after %d failures", failed)
	}
	before := c.ResourceVersion
	f.waitForProbes(r, failed+5)
	f.waitForHealth(c, metav1.ConditionFalse)
	if c.ResourceVersion != before || c.GetCondition(commonv1.TypeConnected).Status != metav1.ConditionTrue {
		f.Errorf("want it said once, and the connection kept, got %+v", c)
	}
	if _, _, err := f.cache.Get(f.Context(), client.ObjectKeyFromObject(c)); err != nil {
		f.Errorf("a cluster that is not well keeps its client, got %v", err)
	}
	r.reject(func(string) bool { return false })
	f.waitForHealth(c, metav1.ConditionTrue)
}

// transientFailure verifies that fewer consecutive failures than the threshold are not
// reported.
func transientFailure(f *twoClusters, _, west *clustersv1alpha1.Cluster) {
	r, c, well := f.connectByProxy("transient", west)
	defer well()
	since, before, n := f.waitForHealth(c, metav1.ConditionTrue).LastTransitionTime, c.ResourceVersion, 0
	r.mu.Lock()
	r.answersProbes = true
	r.mu.Unlock()
	r.reject(func(path string) bool {
		if !strings.HasSuffix(path, "/readyz") {
			return false
		}
		n++

		return n%threshold != 1 // a success, then one failure less than the threshold
	})
	f.waitForProbes(r, 10)
	if h := f.waitForHealth(c, metav1.ConditionTrue); !h.LastTransitionTime.Equal(&since) || c.ResourceVersion != before {
		f.Errorf("want nothing written, got %+v", c)
	}
}

// connectionManager verifies what a provider returns for each state of a cluster. The
// type of the client is a type parameter: a client of another type does not compile.
func connectionManager(f *twoClusters, _, west *clustersv1alpha1.Cluster) {
	r, c, well := f.connectByProxy("managed", west)
	defer well()
	key := client.ObjectKeyFromObject(c)
	get := func(key clusters.Key) error {
		got, at, err := f.cache.GetK8sClient(key)
		if err != nil {
			return err
		}
		if !c.Status.ConnectedAt.Equal(&at) {
			f.Errorf("a client of %s, not of %s", at, c.Status.ConnectedAt)
		}

		return got.Client().Get(f.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})
	}
	if err := get(clusters.Key{Name: "unknown"}); !errors.Is(err, clusters.ErrNotFound) {
		f.Errorf("unknown: want %v, got %v", clusters.ErrNotFound, err)
	}
	if err := get(key); err != nil {
		f.Errorf("connected: want its client to work, got %v", err)
	}
	r.reject(func(path string) bool { return strings.HasSuffix(path, "/readyz") })
	f.waitForHealth(c, metav1.ConditionFalse)
	if err := get(key); err != nil {
		f.Errorf("unhealthy: want its client, got %v", err)
	}
	r.reject(func(string) bool { return true })
	f.setKubeconfig(c, r.kubeconfig(f.T, f.kubeconfig(1)))
	f.waitFor("is not connected", c, func() bool {
		return c.GetCondition(commonv1.TypeConnected).Reason == commonv1.ReasonConnectionUnavailable
	})
	if err := get(key); err == nil || err.Error() != c.Status.Error {
		f.Errorf("failed: want %q, got %v", c.Status.Error, err)
	}
	f.Delete(c)
	wait.Until(f, "gone: it is not found any more", func() bool { return errors.Is(get(key), clusters.ErrNotFound) })
}
