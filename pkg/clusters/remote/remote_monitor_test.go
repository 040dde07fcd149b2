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

// A road leads to an API server, and can be closed for a while.
type road struct {
	*httptest.Server

	mu     sync.Mutex
	closed func(path string) bool
	well   bool // probes that get through are answered here, so that a busy server spoils no count
	turned int  // probes that did not get through
}

func newRoad(t testing.TB, there *rest.Config) *road {
	t.Helper()
	to, err := url.Parse(there.Host)
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(there.CAData)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}, ForceAttemptHTTP2: true}
	r := &road{closed: func(string) bool { return false }}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = transport
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		lets, well := r.lets(request.URL.Path)
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

func (r *road) lets(path string) (lets, well bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	closed := r.closed(path)
	if closed && strings.HasSuffix(path, "/readyz") {
		r.turned++
	}

	return !closed, r.well
}

func (r *road) close(closed func(path string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.turned = closed, 0
}

// count returns how many probes did not get through.
func (r *road) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.turned
}

// kubeconfig leads along the road.
func (r *road) kubeconfig(t testing.TB, direct []byte) []byte {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})
	out, err := clusters.New("road").WithRESTConfig(&rest.Config{
		Host: r.URL, BearerToken: config.BearerToken, TLSClientConfig: rest.TLSClientConfig{CAData: authority},
	}).WriteKubeconfig()
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// travels connects a cluster along a road to the first of the two servers. The one on the
// second server has to be as well as before when the story ends, which well looks at.
func (f *fleetOfTwo) travels(name string, west *clustersv1alpha1.Cluster) (r *road, c *clustersv1alpha1.Cluster, well func()) {
	f.Helper()
	r = newRoad(f.T, servers[1])
	c = f.connected(name, r.kubeconfig(f.T, f.kubeconfig(1)))
	before := west.Status.Revision

	return r, c, func() {
		f.Helper()
		f.until("is well", west, func() bool { return west.GetCondition(clustersv1alpha1.TypeHealthy).Status == metav1.ConditionTrue })
		got, _, err := f.cache.Get(f.Context(), client.ObjectKeyFromObject(west))
		if err != nil || west.Status.Revision != before || f.answers(got.Client()) != f.answers(apis[2]) {
			f.Errorf("%s was disturbed: %v, %+v", west.Name, err, west.Status)
		}
		if err := client.IgnoreNotFound(apis[0].Delete(f.Context(), c)); err != nil {
			f.Error(err)
		}
	}
}

// healthy waits until a cluster is, or is not, and returns the condition.
func (f *fleetOfTwo) healthy(c *clustersv1alpha1.Cluster, want metav1.ConditionStatus) commonv1.Condition {
	f.Helper()
	f.until("is well: "+string(want), c, func() bool { return c.GetCondition(clustersv1alpha1.TypeHealthy).Status == want })

	return c.GetCondition(clustersv1alpha1.TypeHealthy)
}

// after waits until as many probes have been turned back.
func (f *fleetOfTwo) after(r *road, probes int) {
	f.Helper()
	wait.Until(f, fmt.Sprintf("%d probes were turned back", probes), func() bool { return r.count() >= probes })
}

// unreachable: a cluster that cannot be connected to says why, and nobody gets a client of
// it.
func unreachable(f *fleetOfTwo, _, west *clustersv1alpha1.Cluster) {
	r, c, well := f.travels("unreachable", west)
	defer well()
	r.close(func(path string) bool { return path == "/version" })
	f.gives(c, r.kubeconfig(f.T, f.kubeconfig(1)))
	f.until("is not connected", c, func() bool {
		return c.GetCondition(commonv1.TypeConnected).Reason == commonv1.ReasonConnectionUnavailable
	})
	_, _, err := f.cache.Get(f.Context(), client.ObjectKeyFromObject(c))
	if err == nil || c.Status.Error == "" || c.Status.ConnectedAt != nil {
		f.Errorf("got %v, %+v", err, c.Status)
	}
}

// arch: the status tells what each API server runs, and on what.
func arch(f *fleetOfTwo, east, west *clustersv1alpha1.Cluster) {
	for i, c := range []*clustersv1alpha1.Cluster{east, west} {
		d, err := discovery.NewDiscoveryClientForConfig(servers[i+1])
		f.Must(err)
		said, err := d.ServerVersion()
		if err != nil || c.Status.Arch == "" || !strings.HasSuffix(said.Platform, "/"+c.Status.Arch) || c.Status.Version != said.GitVersion {
			f.Errorf("%s: want that of %+v, got %+v, %v", c.Name, said, c.Status, err)
		}
	}
}

// connStatus: the status tells which connection there is, each its own.
func connStatus(f *fleetOfTwo, east, west *clustersv1alpha1.Cluster) {
	for _, c := range []*clustersv1alpha1.Cluster{east, west} {
		healthy := f.healthy(c, metav1.ConditionTrue)
		in, _ := f.cache.Known(client.ObjectKeyFromObject(c))
		s := c.Status
		if s.Revision == "" || s.Revision != string(in.Revision) || !s.ConnectedAt.Equal(&in.ConnectedAt) || !s.ExpiresAt.Time.Equal(in.Expires) ||
			s.Error != "" || s.ObservedGeneration != c.Generation || healthy.ObservedGeneration != c.Generation {
			f.Errorf("%s: the status says %+v, the cache has %+v", c.Name, s, in)
		}
	}
	if east.Status.Revision == west.Status.Revision {
		f.Error("want two connections")
	}
}

// sustainedFailure: it is said once, the connection stays, and so does its end.
func sustainedFailure(f *fleetOfTwo, _, west *clustersv1alpha1.Cluster) {
	r, c, well := f.travels("failing", west)
	defer well()
	r.close(func(string) bool { return true })
	if h := f.healthy(c, metav1.ConditionFalse); h.Reason != commonv1.ReasonConnectionUnavailable || h.Message == "" {
		f.Errorf("got %+v", h)
	}
	failed := r.count()
	if failed < threshold {
		f.Errorf("it was said after %d failures", failed)
	}
	before := c.ResourceVersion
	f.after(r, failed+5)
	f.healthy(c, metav1.ConditionFalse)
	if c.ResourceVersion != before || c.GetCondition(commonv1.TypeConnected).Status != metav1.ConditionTrue {
		f.Errorf("want it said once, and the connection kept, got %+v", c)
	}
	if _, _, err := f.cache.Get(f.Context(), client.ObjectKeyFromObject(c)); err != nil {
		f.Errorf("a cluster that is not well keeps its client, got %v", err)
	}
	r.close(func(string) bool { return false })
	f.healthy(c, metav1.ConditionTrue)
}

// transientFailure: fewer failures in a row than count are not worth a word.
func transientFailure(f *fleetOfTwo, _, west *clustersv1alpha1.Cluster) {
	r, c, well := f.travels("hiccuping", west)
	defer well()
	since, before, n := f.healthy(c, metav1.ConditionTrue).LastTransitionTime, c.ResourceVersion, 0
	r.mu.Lock()
	r.well = true
	r.mu.Unlock()
	r.close(func(path string) bool {
		if !strings.HasSuffix(path, "/readyz") {
			return false
		}
		n++

		return n%threshold != 1 // an answer, then one failure less than count
	})
	f.after(r, 10)
	if h := f.healthy(c, metav1.ConditionTrue); !h.LastTransitionTime.Equal(&since) || c.ResourceVersion != before {
		f.Errorf("want nothing written, got %+v", c)
	}
}

// connectionManager: what a provider says of a cluster. Kinds of cluster are type parameters
// here: a client of another kind does not compile.
func connectionManager(f *fleetOfTwo, _, west *clustersv1alpha1.Cluster) {
	r, c, well := f.travels("managed", west)
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
	r.close(func(path string) bool { return strings.HasSuffix(path, "/readyz") })
	f.healthy(c, metav1.ConditionFalse)
	if err := get(key); err != nil {
		f.Errorf("unhealthy: want its client, got %v", err)
	}
	r.close(func(string) bool { return true })
	f.gives(c, r.kubeconfig(f.T, f.kubeconfig(1)))
	f.until("is not connected", c, func() bool {
		return c.GetCondition(commonv1.TypeConnected).Reason == commonv1.ReasonConnectionUnavailable
	})
	if err := get(key); err == nil || err.Error() != c.Status.Error {
		f.Errorf("failed: want %q, got %v", c.Status.Error, err)
	}
	f.Delete(c)
	wait.Until(f, "gone: it is not found any more", func() bool { return errors.Is(get(key), clusters.ErrNotFound) })
}
