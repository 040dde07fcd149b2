package clusteraccess

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/leak"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/clusterstest"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

var (
	scheme = runtime.NewScheme()
	base   *clusters.Cluster // the platform
	token  = &clustersv1alpha1.TokenConfig{RoleRefs: []clustersv1alpha1.RoleRef{{Kind: "ClusterRole", Name: "view"}}}
)

func TestMain(m *testing.M) {
	leak.VerifyTestMain(leak.Tests(func() (int, error) { return run(m) }), leak.Connections()...)
}

func run(m *testing.M) (int, error) {
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme,
		clustersv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	c, err := devcluster.Join(context.Background(), devcluster.Options{Progress: os.Stderr})
	if err != nil {
		return 1, err
	}
	defer func() { _ = c.Stop() }()
	config, err := c.RESTConfig()
	if err != nil {
		return 1, err
	}
	base = clusters.New("platform").WithRESTConfig(config)
	if err := base.InitializeClient(scheme); err != nil {
		return 1, err
	}
	if err := clusterstest.InstallCRDs(context.Background(), base.Client(), clustersv1alpha1.CRDs()); err != nil {
		return 1, err
	}

	return m.Run(), nil
}

// An applicant asks for access for one object; the test plays the platform.
type applicant struct {
	*testing.T

	r       *Requester
	request reconcile.Request
}

func newApplicant(t *testing.T, reg Registration, o ...Option) *applicant {
	t.Helper()
	r, err := New(base, "Garden", []Registration{reg}, o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)

	return &applicant{t, r, newRequest()}
}

// newRequest is of an object that no test before has asked for, on a platform that may
// be older than this process.
func newRequest() reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: strings.ToLower(rand.Text()), Name: "g"}}
}

// asks does one pass, and reports whether there is access.
func (a *applicant) asks() bool {
	a.Helper()
	result, err := a.r.Reconcile(a.Context(), a.request)
	if err != nil {
		a.Fatal(err)
	}

	return result.RequeueAfter == 0
}

// find returns a request as it is on the platform.
func find[T client.Object](a *applicant, o T) T {
	a.Helper()
	if err := base.Client().Get(a.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		a.Fatal(err)
	}

	return o
}

func (a *applicant) accessRequest() *clustersv1alpha1.AccessRequest {
	return find(a, a.r.newAccessRequest(a.r.registered[0], a.request))
}

// phase lets the platform answer.
func (a *applicant) phase(o client.Object, phase string, more string) {
	a.Helper()
	body := fmt.Sprintf(`{"status":{"phase":%q,"observedGeneration":%d%s}}`, phase, o.GetGeneration(), more)
	if err := base.Client().Status().Patch(a.Context(), o,
		client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		a.Fatal(err)
	}
}

// secret puts a kubeconfig beside a request.
func (a *applicant) secret(kubeconfig []byte, expires time.Time) {
	a.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.r.registered[0].namespace(a.request), Name: "granted",
	}}
	data := map[string][]byte{keyKubeconfig: kubeconfig, keyExpiration: []byte(expires.Format(time.RFC3339))}
	_ = base.Client().Delete(a.Context(), s)
	s.Data = data
	if err := base.Client().Create(a.Context(), s); err != nil {
		a.Fatal(err)
	}
}

func kubeconfig(t *testing.T, host string) []byte {
	t.Helper()
	out, err := clusters.New("granted").WithRESTConfig(&rest.Config{Host: host, BearerToken: "t"}).WriteKubeconfig()
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// TestWorkload: a cluster of its own is asked for, then access to it; what was asked for
// can change; in the end everything is given back, access first.
func TestWorkload(t *testing.T) {
	rewritten := func(ar *clustersv1alpha1.AccessRequest, c *rest.Config) error {
		if ar.Name == "" {
			return errors.New("of which request?")
		}
		c.Host = "https://tunnel.example"

		return nil
	}
	a := newApplicant(t, Workload(scheme, token), WithRewriteRESTConfig(rewritten), WithRetryInterval(time.Second))
	if a.asks() {
		t.Fatal("want it to wait for the cluster")
	}
	cr := find(a, a.r.newClusterRequest(a.r.registered[0], a.request))
	if cr.Spec.Purpose != "workload" || cr.Labels[LabelManagedBy] != "Garden" || len(cr.Finalizers) != 1 {
		t.Errorf("got %+v", cr)
	}
	if a.asks() {
		t.Fatal("want it to wait for the cluster still")
	}
	a.phase(cr, clustersv1alpha1.RequestGranted, "")
	if a.asks() {
		t.Fatal("want it to wait for access")
	}
	ar := a.accessRequest()
	if ar.Spec.RequestRef == nil || ar.Spec.RequestRef.Name != cr.Name || ar.Labels[LabelOnboardingName] != "g" {
		t.Errorf("got %+v", ar)
	}
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	a.phase(ar, clustersv1alpha1.RequestGranted, `,"secretRef":{"name":"granted"}`)
	if a.asks() {
		t.Fatal("want it to wait for the Secret")
	}
	a.secret(kubeconfig(t, "https://east.example"), expires)
	if !a.asks() {
		t.Fatal("want access")
	}
	c, err := a.r.WorkloadCluster(t.Context(), a.request)
	if err != nil || c.APIServerEndpoint() != "https://tunnel.example" {
		t.Errorf("W20: want the address rewritten, got %v, %v", c, err)
	}
	access, err := a.r.Access(t.Context(), a.request, serviceprovider.ClusterWorkload)
	if err != nil || access.Revision == "" || !access.Expires.Equal(expires) || access.SecretKey.Name != "granted" ||
		access.Cluster != c {
		t.Errorf("got %+v, %v", access, err)
	}
	if got, err := a.r.WorkloadAccessRequest(t.Context(), a.request); err != nil || got.UID != ar.UID {
		t.Errorf("got %v, %v", got, err)
	}

	a.r.registered[0].Token = &clustersv1alpha1.TokenConfig{
		RoleRefs: []clustersv1alpha1.RoleRef{{Kind: "ClusterRole", Name: "edit"}},
	}
	if a.asks() {
		t.Error("want it to wait for what was asked for now")
	}
	if got := a.accessRequest(); got.Spec.Token.RoleRefs[0].Name != "edit" || got.Generation != 2 {
		t.Errorf("got %+v", got.Spec)
	}

	for range 6 {
		result, err := a.r.ReconcileDelete(t.Context(), a.request)
		if err != nil {
			t.Fatal(err)
		}
		arGone := kerrors.IsNotFound(base.Client().Get(t.Context(), client.ObjectKeyFromObject(ar), ar))
		crGone := kerrors.IsNotFound(base.Client().Get(t.Context(), client.ObjectKeyFromObject(cr), cr))
		if !arGone && !cr.GetDeletionTimestamp().IsZero() {
			t.Error("the cluster was given back before the access to it")
		}
		if result.RequeueAfter > 0 {
			continue
		}
		if !arGone || !crGone || len(a.r.grants)+len(a.r.waiting) != 0 {
			t.Error("something is left")
		}

		return
	}
	t.Error("it is never done")
}

// TestReleaseAfterOthers: the finalizer of a request is removed after those of others.
func TestReleaseAfterOthers(t *testing.T) {
	a := newApplicant(t, Workload(scheme, token))
	a.asks()
	cr := find(a, a.r.newClusterRequest(a.r.registered[0], a.request))
	patch := func(body string) {
		if err := base.Client().Patch(t.Context(), cr,
			client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
			t.Fatal(err)
		}
	}
	patch(`{"metadata":{"finalizers":["` + Finalizer + `","example.org/platform"]}}`)
	for range 3 {
		if result, err := a.r.ReconcileDelete(t.Context(), a.request); err != nil || result.RequeueAfter == 0 {
			t.Fatalf("want it to wait for the platform, got %+v, %v", result, err)
		}
	}
	patch(`{"metadata":{"finalizers":["` + Finalizer + `"]}}`)
	if result, err := a.r.ReconcileDelete(t.Context(), a.request); err != nil || result.RequeueAfter != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
}

// TestForeign: a request of another owner is an error, and is not changed.
func TestForeign(t *testing.T) {
	a := newApplicant(t, Workload(scheme, token))
	theirs := a.r.newClusterRequest(a.r.registered[0], a.request)
	theirs.Labels, theirs.Finalizers = map[string]string{LabelManagedBy: "others"}, nil
	if err := a.r.create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	if _, err := a.r.Reconcile(t.Context(), a.request); err == nil {
		t.Error("want an error")
	}
	if result, err := a.r.ReconcileDelete(t.Context(), a.request); err != nil || result.RequeueAfter != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
	if got := find(a, theirs); !got.DeletionTimestamp.IsZero() {
		t.Error("somebody else's request was deleted")
	}
}

// TestRefusals: what the platform and its clusters may say.
func TestRefusals(t *testing.T) {
	existing := func(reconcile.Request) client.ObjectKey {
		return client.ObjectKey{Namespace: "default", Name: "nothing"}
	}
	for name, tc := range map[string]struct {
		reg  Registration
		play func(a *applicant)
		want error
	}{
		"request denied": {Workload(scheme, token), func(a *applicant) {
			a.asks()
			a.phase(find(a, a.r.newClusterRequest(a.r.registered[0], a.request)), clustersv1alpha1.RequestDenied, "")
		}, serviceprovider.ErrAccessDenied},
		"no request": {MCP(scheme, token), func(*applicant) {}, serviceprovider.ErrClusterGone},
		"no cluster": {Registration{ID: "a", ExistingCluster: existing, Token: token}, func(*applicant) {},
			serviceprovider.ErrClusterGone},
		"cluster gone": {Workload(scheme, token), func(a *applicant) {
			a.asks()
			a.phase(find(a, a.r.newClusterRequest(a.r.registered[0], a.request)), clustersv1alpha1.RequestGranted,
				`,"cluster":{"namespace":"default","name":"gone"}`)
		}, serviceprovider.ErrClusterGone},
		"access denied": {Workload(scheme, token), func(a *applicant) {
			a.asks()
			a.phase(find(a, a.r.newClusterRequest(a.r.registered[0], a.request)), clustersv1alpha1.RequestGranted, "")
			a.asks()
			a.phase(a.accessRequest(), clustersv1alpha1.RequestDenied, "")
		}, serviceprovider.ErrAccessDenied},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			a := newApplicant(t, tc.reg)
			tc.play(a)
			if _, err := a.r.Reconcile(t.Context(), a.request); !errors.Is(err, tc.want) {
				t.Errorf("want %v, got %v", tc.want, err)
			}
		})
	}
}

// TestBadSecrets: what a Secret may hold that cannot be used, or must not be.
func TestBadSecrets(t *testing.T) {
	a := newApplicant(t, Workload(scheme, token))
	a.admitted(time.Now().Add(time.Hour))
	good := string(kubeconfig(t, "https://east.example"))
	server, login := "server: https://east.example", "token: t"
	for name, tc := range map[string]struct {
		old, now string
		want     error
	}{
		"exec": {login, "exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, " +
			"interactiveMode: Never}", clusters.ErrUnsafeKubeconfig},
		"authProvider":  {login, "auth-provider: {name: oidc}", clusters.ErrUnsafeKubeconfig},
		"tokenFile":     {login, "tokenFile: /var/run/token", clusters.ErrUnsafeKubeconfig},
		"certificate":   {login, "client-certificate: /c.pem", clusters.ErrUnsafeKubeconfig},
		"key":           {login, "client-key: /k.pem", clusters.ErrUnsafeKubeconfig},
		"impersonation": {login, "as: admin", clusters.ErrUnsafeKubeconfig},
		"authority":     {server, server + "\n    certificate-authority: /ca.pem", clusters.ErrUnsafeKubeconfig},
		"proxy":         {server, server + "\n    proxy-url: https://proxy.example", clusters.ErrUnsafeKubeconfig},
		"insecure":      {server, server + "\n    insecure-skip-tls-verify: true", clusters.ErrUnsafeKubeconfig},
		"http":          {server, "server: http://east.example", clusters.ErrUnsafeKubeconfig},
		"garbage":       {good, "a: b: c", clusters.ErrInvalidKubeconfig},
		"nothing":       {good, "", clusters.ErrInvalidKubeconfig},
	} {
		bad := strings.Replace(good, tc.old, tc.now, 1)
		if bad == good {
			t.Fatalf("%s: %q is not in the kubeconfig", name, tc.old)
		}
		a.secret([]byte(bad), time.Time{})
		a.annotate(`{"example.org/row":"` + name + `"}`)
		if _, err := a.r.Reconcile(t.Context(), a.request); !errors.Is(err, tc.want) ||
			!strings.Contains(err.Error(), "key kubeconfig of Secret") {
			t.Errorf("%s: want %v, got %v", name, tc.want, err)
		}
	}
	a.secret([]byte(good), time.Now().Add(time.Hour))
	if !a.asks() {
		t.Error("want access after it was corrected")
	}
}

// TestExpired: credentials that have expired are no access; renewed ones are.
func TestExpired(t *testing.T) {
	a := newApplicant(t, Workload(scheme, token))
	a.asks()
	a.phase(find(a, a.r.newClusterRequest(a.r.registered[0], a.request)), clustersv1alpha1.RequestGranted, "")
	a.asks()
	a.phase(a.accessRequest(), clustersv1alpha1.RequestGranted, `,"secretRef":{"name":"granted"}`)
	a.secret(kubeconfig(t, "https://east.example"), time.Now().Add(-time.Minute))
	if _, err := a.r.Reconcile(t.Context(), a.request); !errors.Is(err, clusters.ErrExpired) ||
		!strings.Contains(err.Error(), "/granted, on 20") {
		t.Errorf("want it said when they have expired, got %v", err)
	}
	if _, err := a.r.Access(t.Context(), a.request, serviceprovider.ClusterWorkload); !errors.Is(err,
		clusters.ErrExpired) {
		t.Errorf("want %v, got %v", clusters.ErrExpired, err)
	}
	a.secret(kubeconfig(t, "https://east.example"), time.Now().Add(time.Hour))
	if !a.asks() {
		t.Error("want access")
	}
}

func TestNew(t *testing.T) {
	ok := MCP(scheme, token)
	for name, tc := range map[string]struct {
		platform   *clusters.Cluster
		controller string
		reg        []Registration
	}{
		"no platform": {nil, "a", []Registration{ok}},
		"no client":   {clusters.New("x"), "a", []Registration{ok}},
		"no name":     {base, "", []Registration{ok}},
		"twice":       {base, "a", []Registration{ok, ok}},
		"same name": {base, "a", []Registration{ok, {
			ID: "b", Suffix: "MCP", Token: token, ExistingRequest: ok.ExistingRequest,
		}}},
		"no ID":  {base, "a", []Registration{{Request: &clustersv1alpha1.ClusterRequestSpec{}, Token: token}}},
		"no way": {base, "a", []Registration{{ID: "a", Token: token}}},
		"two ways": {base, "a", []Registration{{
			ID: "a", Token: token, Request: &clustersv1alpha1.ClusterRequestSpec{},
			ExistingRequest: ok.ExistingRequest,
		}}},
		"no permission": {base, "a", []Registration{MCP(scheme, nil)}},
	} {
		if r, err := New(tc.platform, tc.controller, tc.reg); err == nil || r != nil {
			t.Errorf("%s: want an error, got %v", name, r)
		}
	}
	r, err := New(base, "a", []Registration{ok})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Access(t.Context(), reconcile.Request{}, "other"); err == nil {
		t.Error("want an error for a cluster that is not registered")
	}
}

// TestNames: they are stable, fit, and differ where objects do.
func TestNames(t *testing.T) {
	of := func(ns, name string) reconcile.Request {
		return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: ns, Name: name}}
	}
	// The platform has it so.
	if got := StableNamespace(of("default", "example")); got != "mcp--2bcf790e-815e-8ea9-857b-15be429583a5" {
		t.Errorf("got %s", got)
	}
	if got, err := StableMCPNamespace("example", "default"); got != "mcp--2bcf790e-815e-8ea9-857b-15be429583a5" ||
		err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := StableMCPNamespace("", ""); err == nil {
		t.Errorf("want an error, got %s", got)
	}
	shape := regexp.MustCompile(`^mcp--[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if got := StableNamespace(of("a", "b")); !shape.MatchString(got) || got == StableNamespace(of("a", "c")) {
		t.Errorf("got %s", got)
	}
	long := strings.Repeat("x", 80)
	a, b := bounded(long+"a"), bounded(long+"b")
	if len(a) > 63 || a == b || bounded("short") != "short" {
		t.Errorf("got %s and %s", a, b)
	}
	r := &Requester{controller: "garden"}
	ar := r.newAccessRequest(MCP(scheme, token), of("project", long))
	if objectOf(ar) != of("project", long) || len(ar.Labels[LabelOnboardingName]) > 63 {
		t.Errorf("a long name does not come back: %+v", ar.ObjectMeta)
	}
}

func TestTimestamp(t *testing.T) {
	for text, want := range map[string]time.Time{
		"": {}, "soon": {}, "-1": {}, "100": time.Unix(100, 0), "1970-01-01T00:01:40Z": time.Unix(100, 0),
	} {
		if got := timestamp([]byte(text)); !got.Equal(want) {
			t.Errorf("%q: want %v, got %v", text, want, got)
		}
	}
}

// TestStatic: kubeconfigs in place of a platform.
func TestStatic(t *testing.T) {
	s, err := NewStatic(scheme, map[string][]byte{serviceprovider.ClusterMCP: kubeconfig(t, "https://east.example")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var request reconcile.Request
	if result, err := s.Reconcile(t.Context(), request); err != nil || !result.IsZero() {
		t.Errorf("got %+v, %v", result, err)
	}
	first, err := s.Access(t.Context(), request, serviceprovider.ClusterMCP)
	if err != nil || first.Cluster.APIServerEndpoint() != "https://east.example" {
		t.Errorf("got %+v, %v", first, err)
	}
	if ar, err := s.MCPAccessRequest(t.Context(), request); err != nil ||
		ar.Status.Phase != clustersv1alpha1.RequestGranted {
		t.Errorf("got %+v, %v", ar, err)
	}
	if _, err := s.WorkloadAccessRequest(t.Context(), request); !kerrors.IsNotFound(err) {
		t.Errorf("want a not-found, got %v", err)
	}
	if _, err := s.WorkloadCluster(t.Context(), request); !errors.Is(err, clusters.ErrNotFound) {
		t.Errorf("want %v, got %v", clusters.ErrNotFound, err)
	}
	if err := s.Set(serviceprovider.ClusterMCP, kubeconfig(t, "https://west.example")); err != nil {
		t.Fatal(err)
	}
	if c, err := s.MCPCluster(t.Context(), request); err != nil || c.APIServerEndpoint() != "https://west.example" {
		t.Errorf("got %v, %v", c, err)
	}
	if result, err := s.ReconcileDelete(t.Context(), request); err != nil || !result.IsZero() {
		t.Errorf("got %+v, %v", result, err)
	}
	if _, err := NewStatic(scheme, map[string][]byte{"a": []byte("nothing")}); !errors.Is(err,
		clusters.ErrInvalidKubeconfig) {
		t.Errorf("want %v, got %v", clusters.ErrInvalidKubeconfig, err)
	}
}
