package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// The stories that a reconciler of this kind was tested with, by the names they had there,
// on a real API server. What it had beside these for other kinds of cluster has no match.

// A road leads to the API server, and can be closed for a while.
type road struct {
	*httptest.Server

	mu     sync.Mutex
	closed func(path string) bool
	well   bool // probes that get through are answered here, so that a busy server spoils no count
	turned int  // probes that did not get through
}

func newRoad(t *testing.T) *road {
	t.Helper()
	to, err := url.Parse(plane.Host)
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(plane.CAData)
	r := &road{closed: func(string) bool { return false }}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}, ForceAttemptHTTP2: true}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		lets, well := r.lets(request.URL.Path)
		switch {
		case !lets:
			w.WriteHeader(http.StatusServiceUnavailable)
		case !well || !strings.HasSuffix(request.URL.Path, "/readyz"):
			proxy.ServeHTTP(w, request)
		}
	}))
	t.Cleanup(r.Close)

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
func (r *road) kubeconfig(t *testing.T, direct []byte) []byte {
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

// travels connects a cluster along a road.
func travels(t *testing.T, o clusters.CacheOptions[*clusters.Cluster]) (*road, *clustersv1alpha1.Cluster, *clusters.Cache[*clusters.Cluster]) {
	t.Helper()
	ns, r := namespace(t), newRoad(t)
	cache := clusters.NewClusterCache(scheme, o)
	t.Cleanup(cache.Close)
	start(t, cache)
	c := newCluster(ns, "east")
	create(t, &corev1.Secret{ObjectMeta: c.ObjectMeta, Data: map[string][]byte{"kubeconfig": r.kubeconfig(t, credentials(t, ns, "traveller"))}}, c)
	shows(t, c, commonv1.ReasonConnectionAvailable)
	eventually(t, "the connection that it speaks of is there", func() bool {
		in, _ := cache.Known(client.ObjectKeyFromObject(c))

		return string(in.Revision) == c.Status.Revision
	})

	return r, c, cache
}

func health(t *testing.T, c *clustersv1alpha1.Cluster) commonv1.Condition {
	t.Helper()
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
		t.Fatal(err)
	}

	return c.GetCondition(clustersv1alpha1.TypeHealthy)
}

// reads lets a service account read namespaces.
func reads(t *testing.T, ns, account string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: ns}
	create(t, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: ns},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: account}},
		})
}

// TestUpstreamKubernetesError: a cluster that cannot be connected to says why, and nobody
// gets a client of it.
func TestUpstreamKubernetesError(t *testing.T) {
	r, c, cache := travels(t, clusters.CacheOptions[*clusters.Cluster]{})
	r.close(func(path string) bool { return path == "/version" })
	rotate(t, c.Namespace, c.Name, r.kubeconfig(t, credentials(t, c.Namespace, "another")))
	shows(t, c, commonv1.ReasonConnectionUnavailable)
	_, _, err := cache.Get(t.Context(), client.ObjectKeyFromObject(c))
	if err == nil || c.Status.Error == "" || c.Status.ConnectedAt != nil || !strings.Contains(c.Status.Error, "503") {
		t.Errorf("got %v, %+v", err, c.Status)
	}
}

// TestUpstreamKubernetesArch: the status tells what the API server runs on.
func TestUpstreamKubernetesArch(t *testing.T) {
	_, c, _ := travels(t, clusters.CacheOptions[*clusters.Cluster]{})
	d, err := discovery.NewDiscoveryClientForConfig(plane)
	if err != nil {
		t.Fatal(err)
	}
	version, err := d.ServerVersion()
	if err != nil || c.Status.Arch == "" || !strings.HasSuffix(version.Platform, "/"+c.Status.Arch) {
		t.Errorf("want that of %+v, got %+v, %v", version, c.Status, err)
	}
}

// TestUpstreamKubernetesConnStatus: the status tells which connection there is.
func TestUpstreamKubernetesConnStatus(t *testing.T) {
	_, c, cache := travels(t, clusters.CacheOptions[*clusters.Cluster]{})
	in, _ := cache.Known(client.ObjectKeyFromObject(c))
	s := c.Status
	if s.Revision == "" || s.Revision != string(in.Revision) || !s.ConnectedAt.Equal(&in.ConnectedAt) || !s.ExpiresAt.Time.Equal(in.Expires) ||
		!strings.HasPrefix(s.Version, "v1.") || s.Error != "" || s.ObservedGeneration != c.Generation || health(t, c).Status != metav1.ConditionTrue {
		t.Errorf("the status says %+v, the cache has %+v", s, in)
	}
}

// TestUpstreamKubernetesMonitorReportsSustainedFailure: it is said once, the connection
// stays, and so does its end.
func TestUpstreamKubernetesMonitorReportsSustainedFailure(t *testing.T) {
	r, c, cache := travels(t, clusters.CacheOptions[*clusters.Cluster]{FailureThreshold: 3})
	r.close(func(string) bool { return true })
	eventually(t, "it is not healthy", func() bool { return health(t, c).Status == metav1.ConditionFalse })
	if turned := r.count(); turned < 3 {
		t.Errorf("it was said after %d failures", turned)
	}
	if h := health(t, c); h.Reason != commonv1.ReasonConnectionUnavailable || !strings.Contains(h.Message, "503") {
		t.Errorf("got %+v", h)
	}
	before := c.ResourceVersion
	failed := r.count()
	eventually(t, "it fails on", func() bool { return r.count() >= failed+5 })
	if health(t, c); c.ResourceVersion != before || c.GetCondition(commonv1.TypeConnected).Status != metav1.ConditionTrue {
		t.Errorf("want it said once, and the connection kept, got %+v", c)
	}
	if _, _, err := cache.Get(t.Context(), client.ObjectKeyFromObject(c)); err != nil {
		t.Errorf("a cluster that is not well keeps its client, got %v", err)
	}
	r.close(func(string) bool { return false })
	eventually(t, "it is healthy", func() bool { return health(t, c).Status == metav1.ConditionTrue })
}

// TestUpstreamKubernetesMonitorIgnoresTransientFailure: fewer failures in a row than count
// are not worth a word.
func TestUpstreamKubernetesMonitorIgnoresTransientFailure(t *testing.T) {
	r, c, _ := travels(t, clusters.CacheOptions[*clusters.Cluster]{FailureThreshold: 3})
	since := health(t, c).LastTransitionTime
	before := c.ResourceVersion
	n := 0
	r.mu.Lock()
	r.well = true
	r.mu.Unlock()
	r.close(func(path string) bool {
		if !strings.HasSuffix(path, "/readyz") {
			return false
		}
		n++

		return n%3 != 1 // an answer, then two failures
	})
	eventually(t, "many probes have failed", func() bool { return r.count() >= 10 })
	if h := health(t, c); h.Status != metav1.ConditionTrue || !h.LastTransitionTime.Equal(&since) || c.ResourceVersion != before {
		t.Errorf("want nothing written, got %+v", c)
	}
}

// TestUpstreamConnectionManager: what a provider says of a cluster. Kinds of cluster are
// type parameters here: a client of another kind does not compile.
func TestUpstreamConnectionManager(t *testing.T) {
	r, c, cache := travels(t, clusters.CacheOptions[*clusters.Cluster]{FailureThreshold: 1})
	key := client.ObjectKeyFromObject(c)
	get := func(key clusters.Key) error {
		got, at, err := cache.GetK8sClient(key)
		if err != nil {
			return err
		}
		if got == nil || !c.Status.ConnectedAt.Equal(&at) {
			return errors.Errorf("a client of %s, not of %s", at, c.Status.ConnectedAt)
		}

		return got.Client().Get(context.Background(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})
	}
	if err := get(clusters.Key{Name: "unknown"}); !errors.Is(err, clusters.ErrNotFound) {
		t.Errorf("unknown: want %v, got %v", clusters.ErrNotFound, err)
	}
	reads(t, c.Namespace, "traveller")
	eventually(t, "connected: its client works", func() bool { return get(key) == nil })
	r.close(func(path string) bool { return strings.HasSuffix(path, "/readyz") })
	eventually(t, "it is not healthy", func() bool { return health(t, c).Status == metav1.ConditionFalse })
	if err := get(key); err != nil {
		t.Errorf("unhealthy: want its client, got %v", err)
	}
	r.close(func(string) bool { return true })
	rotate(t, c.Namespace, c.Name, r.kubeconfig(t, credentials(t, c.Namespace, "another")))
	shows(t, c, commonv1.ReasonConnectionUnavailable)
	if err := get(key); err == nil || err.Error() != c.Status.Error {
		t.Errorf("failed: want %q, got %v", c.Status.Error, err)
	}
	if err := api.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	eventually(t, "gone: it is not found", func() bool { return errors.Is(get(key), clusters.ErrNotFound) })
}

// TestRefusedUsers: when a server does not accept the credentials from whoever uses a
// connection, the Secret is read at once, long before it is time to.
func TestRefusedUsers(t *testing.T) {
	ns := namespace(t)
	cache := clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{})
	t.Cleanup(cache.Close)
	start(t, cache, WithRecheckInterval(24*time.Hour), WithProbeInterval(24*time.Hour))
	c := newCluster(ns, "east")
	create(t, &corev1.Secret{ObjectMeta: c.ObjectMeta, Data: map[string][]byte{"kubeconfig": credentials(t, ns, "first")}}, c)
	shows(t, c, commonv1.ReasonConnectionAvailable)
	before := c.Status.Revision
	rotate(t, ns, "east", credentials(t, ns, "second"))
	if err := api.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "first"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "there is another connection", func() bool {
		if got, _, err := cache.Get(t.Context(), client.ObjectKeyFromObject(c)); err == nil {
			_ = got.Client().Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})
		}

		return shows(t, c, commonv1.ReasonConnectionAvailable).Status.Revision != before
	})
}
