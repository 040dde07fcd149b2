package connect

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/clientmanager"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// newCluster returns a Cluster with a reference to the Secret of its name.
func newCluster(ns, name string) *clustersv1alpha1.Cluster {
	ref := &commonv1.LocalSecretKeySelector{
		LocalSecretReference: commonv1.LocalSecretReference{Name: name}, Key: "kubeconfig",
	}

	return &clustersv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: clustersv1alpha1.ClusterSpec{SecretRef: ref},
	}
}

// create creates objects.
func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := api.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// waitForReason waits until the condition Connected has a reason, and returns the
// cluster.
func waitForReason(
	t *testing.T, c *clustersv1alpha1.Cluster, reason commonv1.ConditionReason,
) *clustersv1alpha1.Cluster {
	t.Helper()
	wait.Until(t, fmt.Sprintf("%s is %s", c.Name, reason), func() bool {
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
			t.Fatal(err)
		}

		return c.GetCondition(commonv1.TypeConnected).Reason == reason
	})

	return c
}

// rotate replaces the kubeconfig in a Secret.
func rotate(t *testing.T, ns, name string, kubeconfig []byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	if err := api.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json",
		fmt.Appendf(nil, `{"stringData":{"kubeconfig":%q}}`, kubeconfig))); err != nil {
		t.Fatal(err)
	}
}

// TestConnectionLifecycle verifies that a connection is made, replaced when the Secret is
// rotated, lost when the credentials are revoked, and dropped with the cluster. Each time
// its users are notified once, and their leases end.
func TestConnectionLifecycle(t *testing.T) {
	ns := namespace(t)
	var builds atomic.Int32
	cache := clusters.NewCache(func(_ context.Context, k clusters.Key, in clusters.Input) (*clusters.Cluster, error) {
		builds.Add(1)
		c := clusters.New(k.String()).WithRESTConfig(in.RESTConfig)

		return c, c.InitializeClient(scheme)
	}, clusters.CacheOptions[*clusters.Cluster]{FailureThreshold: 2})
	t.Cleanup(cache.Close)
	start(t, cache)
	c := newCluster(ns, "east")
	create(t, &corev1.Secret{
		ObjectMeta: c.ObjectMeta, Data: map[string][]byte{"kubeconfig": credentials(t, ns, "first")},
	}, c)
	waitForReason(t, c, commonv1.ReasonConnectionAvailable)
	if c.Status.ConnectedAt == nil || !strings.HasPrefix(c.Status.Version, "v1.") || c.Status.ExpiresAt == nil ||
		c.Status.Error != "" {
		t.Errorf("status: %+v", c.Status)
	}

	m := clusters.NewManager(cache)
	u := clusters.User{Kind: "App", Key: clusters.Key{Name: "api"}}
	var lease clusters.Lease[*clusters.Cluster]
	get := func() {
		t.Helper()
		wait.Until(t, "the connection can be had", func() bool {
			var err error
			lease, err = m.Get(t.Context(), u, Ref(c))

			return err == nil
		})
	}
	get()
	if err := lease.Client.Client().List(lease.Context, &corev1.NodeList{}); err == nil {
		t.Error("want a service account without permissions")
	}
	forward := &metav1.ObjectMeta{Name: "port-forward"}
	old := clientmanager.NewClientManager[*clusters.Cluster](cache)
	if got, err := old.GetK8sClient(forward, c); err != nil || got != lease.Client {
		t.Errorf("by time: %v, %v", got, err)
	}

	first := c.DeepCopy()
	rotate(t, ns, "east", credentials(t, ns, "second"))
	<-lease.Context.Done()
	wait.Until(t, "it is another revision, and can be had", func() bool {
		in, _ := cache.Known(client.ObjectKeyFromObject(c))
		now := waitForReason(t, c, commonv1.ReasonConnectionAvailable).Status.Revision

		return now != first.Status.Revision && now == string(in.Revision)
	})
	if change, err := m.Refresh(t.Context(), u, Ref(c)); change != clusters.Replaced || err != nil {
		t.Errorf("want Replaced, got %s, %v", change, err)
	}
	if !old.Refresh(forward, c) {
		t.Error("by time: want a change")
	}
	get()
	if n := builds.Load(); n != 2 {
		t.Errorf("want a build for each revision, got %d", n)
	}

	if err := api.Delete(t.Context(), &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "second"},
	}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "it is not healthy", func() bool {
		_ = api.Get(t.Context(), client.ObjectKeyFromObject(c), c)
		h := c.GetCondition(clustersv1alpha1.TypeHealthy)

		return h.Status == metav1.ConditionFalse && h.Reason == commonv1.ReasonConnectionUnauthorized
	})
	if lease.Context.Err() != nil {
		t.Error("a cluster that is not well keeps its connection")
	}
	if err := api.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	<-lease.Context.Done()
	if _, err := m.Get(t.Context(), u, Ref(c)); !errors.Is(err, clusters.ErrNotFound) {
		t.Errorf("want %v, got %v", clusters.ErrNotFound, err)
	}
	if change, _ := m.Refresh(t.Context(), u, clusters.Ref{Key: client.ObjectKeyFromObject(c)}); change != clusters.Lost {
		t.Errorf("want Lost, got %s", change)
	}
}

// TestRestartKeepsStatus verifies that a new process uses the connection that the status
// reports, and does not write the object.
func TestRestartKeepsStatus(t *testing.T) {
	ns := namespace(t)
	c := newCluster(ns, "east")
	create(t, &corev1.Secret{ObjectMeta: c.ObjectMeta, Data: map[string][]byte{"kubeconfig": credentials(t, ns, "a")}}, c)
	var before string
	for process := range 2 {
		t.Run(fmt.Sprint(process), func(t *testing.T) {
			cache := clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{})
			t.Cleanup(cache.Close) // after the controller has stopped, which would report the lost connection
			start(t, cache)
			wait.Until(t, "it is connected", func() bool {
				_, _, err := cache.Get(t.Context(), client.ObjectKeyFromObject(c))
				return err == nil
			})
			waitForReason(t, c, commonv1.ReasonConnectionAvailable)
			in, _ := cache.Known(client.ObjectKeyFromObject(c))
			if !in.ConnectedAt.Equal(c.Status.ConnectedAt) || string(in.Revision) != c.Status.Revision {
				t.Errorf(
					"the cache has %v and %s, the status %v and %s", in.ConnectedAt, in.Revision, c.Status.ConnectedAt,
					c.Status.Revision)
			}
			if process == 1 && c.ResourceVersion != before {
				t.Errorf("the object was written: %s, %s", before, c.ResourceVersion)
			}
			before = c.ResourceVersion
		})
	}
}

// unsafeSettings are settings that a kubeconfig in a Secret must not use.
var unsafeSettings = map[string]func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo){
	"exec": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		u.Exec = &clientcmdapi.ExecConfig{
			Command: "touch", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: "Never",
		}
	},
	"auth-provider": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"}
	},
	"token-file": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		u.Token, u.TokenFile = "", "/var/run/token"
	},
	"certificate-file": func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientCertificate = "/c.pem" },
	"key-file":         func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientKey = "/k.pem" },
	"impersonation":    func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.Impersonate = "admin" },
	"authority-file": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		c.CertificateAuthorityData, c.CertificateAuthority = nil, "/ca.pem"
	},
	"proxy-url": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.ProxyURL = "https://proxy.example" },
	"insecure-skip": func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
		c.CertificateAuthorityData, c.InsecureSkipTLSVerify = nil, true
	},
}

// TestBadInput verifies that invalid settings are reported in the condition, without
// their secrets, and that the cluster is connected as soon as they are corrected.
func TestBadInput(t *testing.T) {
	ns := namespace(t)
	good := credentials(t, ns, "good")
	cache := clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{})
	t.Cleanup(cache.Close)
	start(t, cache)
	config, err := clientcmd.RESTConfigFromKubeConfig(good)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
		k, err := clientcmd.Load(good)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range k.Contexts {
			change(k.Clusters[x.Cluster], k.AuthInfos[x.AuthInfo])
		}
		out, err := clientcmd.Write(*k)
		if err != nil {
			t.Fatal(err)
		}

		return out
	}
	cert, key := expiredCertificate(t)
	type row struct {
		data map[string][]byte // nil: no Secret
		want commonv1.ConditionReason
	}
	rows := map[string]row{
		"no-secret": {nil, clustersv1alpha1.ReasonSecretMissing},
		"no-key":    {map[string][]byte{"config": good}, clustersv1alpha1.ReasonSecretMissing},
		"garbage": {
			map[string][]byte{"kubeconfig": []byte("token: " + config.BearerToken + ": x")},
			clustersv1alpha1.ReasonKubeconfigInvalid,
		},
		"nowhere": {map[string][]byte{"kubeconfig": changed(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			c.Server = "https://127.0.0.1:1"
		})}, commonv1.ReasonConnectionUnavailable},
		"expired": {map[string][]byte{"kubeconfig": changed(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Token, u.ClientCertificateData, u.ClientKeyData = "", cert, key
		})}, clustersv1alpha1.ReasonCredentialsExpired},
		"refused": {map[string][]byte{"kubeconfig": changed(func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Token = "wrong"
		})}, commonv1.ReasonConnectionUnauthorized},
	}
	for name, change := range unsafeSettings {
		rows[name] = row{map[string][]byte{"kubeconfig": changed(change)}, clustersv1alpha1.ReasonKubeconfigRefused}
	}
	for name, tc := range rows {
		t.Run(name, func(t *testing.T) {
			c := newCluster(ns, name)
			if tc.data != nil {
				create(t, &corev1.Secret{ObjectMeta: c.ObjectMeta, Data: tc.data})
			}
			create(t, c)
			waitForReason(t, c, tc.want)
			if _, _, err := cache.Get(t.Context(), client.ObjectKeyFromObject(c)); err == nil || c.Status.Error == "" ||
				c.Status.ConnectedAt != nil {
				t.Errorf("got a connection, %v, %+v", err, c.Status)
			}
			if strings.Contains(fmt.Sprint(c.Status), config.BearerToken) {
				t.Errorf("the status contains the token: %+v", c.Status)
			}
			if tc.data == nil {
				create(t, &corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: map[string][]byte{"kubeconfig": good},
				})
			} else {
				rotate(t, ns, name, good)
			}
			// A cluster that does not respond is tried again after half a minute, or when requested.
			requested := []byte(`{"metadata":{"annotations":{"moorage.dev/reconcile-requested-at":"now"}}}`)
			if err := api.Patch(t.Context(), c, client.RawPatch("application/merge-patch+json", requested)); err != nil {
				t.Fatal(err)
			}
			waitForReason(t, c, commonv1.ReasonConnectionAvailable)
		})
	}
}

// TestContextOfOwnKubeconfig verifies that a context of the program's own kubeconfig is
// allowed only by the option.
func TestContextOfOwnKubeconfig(t *testing.T) {
	ns := namespace(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, credentials(t, ns, "own"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCluster(ns, "own")
	c.Spec = clustersv1alpha1.ClusterSpec{Context: "own"}
	create(t, c)
	for _, tc := range []struct {
		name string
		o    []Option
		want commonv1.ConditionReason
	}{
		{"not allowed", nil, clustersv1alpha1.ReasonKubeconfigRefused},
		{"allowed", []Option{WithKubeconfigFile(path)}, commonv1.ReasonConnectionAvailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cache := clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{})
			defer cache.Close()
			start(t, cache, tc.o...)
			waitForReason(t, c, tc.want)
		})
	}
}

var errLater = errors.New("try again later")

// failingReader is an API server, or a proxy, that responds with an error.
type failingReader struct {
	client.Reader

	err error
}

// Get returns the error.
func (f failingReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f.err
}

// expiredCertificate returns a client certificate that expired in 1970, and its key.
func expiredCertificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(3600, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}

	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(
		&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})
}

// TestSettingsUnreadable verifies that a connection is kept while the Secret cannot be
// read.
func TestSettingsUnreadable(t *testing.T) {
	for name, err := range map[string]error{
		"outage": errLater,
		"proxy": kerrors.NewGenericServerResponse(
			http.StatusNotFound, http.MethodGet, corev1.Resource("secrets"), "east", "404 page not found", 0, true),
	} {
		t.Run(name, func(t *testing.T) { testSettingsUnreadable(t, err) })
	}
	if _, err := sendRequest(t.Context(), &record{
		input: clusters.Input{RESTConfig: &rest.Config{Host: "http://%zz"}},
	}, "/version"); reasonOf(err) != commonv1.ReasonConnectionUnavailable {
		t.Errorf("got %v", err)
	}
	if version, arch := versionOf([]byte("nothing")); isUnauthorized(nil) || version != "" || arch != "" {
		t.Error("no answer is no refusal, and nothing is no version")
	}
}

// testSettingsUnreadable runs the test for one error.
func testSettingsUnreadable(t *testing.T, err error) {
	t.Helper()
	r := newReconciler(nil, failingReader{err: err}, nil, options{
		logger: logging.NewNopLogger(), clock: clock.RealClock{}, recheckInterval: time.Minute,
	})
	c := newCluster("default", "east")
	c.Generation = 1
	known := &record{generation: 1, input: clusters.Input{Revision: "a", RESTConfig: &rest.Config{}}}
	if err := r.readSettings(t.Context(), c, known); err != nil || known.input.Revision != "a" || known.inputErr != nil {
		t.Errorf("want it as it was, got %+v, %v", known, err)
	}
	c.Generation = 2
	if err := r.readSettings(t.Context(), c, known); err == nil {
		t.Error("want an error: the spec is another one, and nothing is known of it")
	}
}
