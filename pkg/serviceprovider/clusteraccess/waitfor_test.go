package clusteraccess

import (
	"bytes"
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
)

// A desk is a platform that answers each request at once, with a phase.
type desk struct {
	client.WithWatch

	phase   string
	made    []string
	secret  *corev1.Secret
	fails   error // of each Get
	granted client.WithWatch
}

func newDesk(t *testing.T, phase string, kubeconfig []byte) *desk {
	t.Helper()
	d := &desk{
		phase: phase,
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "granted"},
			Data:       map[string][]byte{keyKubeconfig: kubeconfig},
		},
	}
	d.granted = fake.NewClientBuilder().WithScheme(scheme).WithObjects(d.secret).Build()
	d.WithWatch = interceptor.NewClient(d.granted, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if d.fails != nil {
				return d.fails
			}

			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			d.made = append(d.made, kind(o)+" "+o.GetNamespace()+"/"+o.GetName())
			switch o := o.(type) {
			case *clustersv1alpha1.ClusterRequest:
				o.Status.Phase = d.phase
			case *clustersv1alpha1.AccessRequest:
				o.Status.Phase, o.Status.SecretRef = d.phase, &clustersv1alpha1.LocalObjectReference{Name: "granted"}
			}

			return c.Create(ctx, o, opts...)
		},
	})

	return d
}

func (d *desk) cluster() *clusters.Cluster { return clusters.NewTestClusterFromClient("platform", d) }

var standingAccess = Onboarding("onboarding-run", Registration{Token: token, Scheme: scheme})

// TestWaitFor: a program gets access to the onboarding cluster by requests of the names that
// the platform's library gives them, and those that it has left are used.
func TestWaitFor(t *testing.T) {
	d := newDesk(t, clustersv1alpha1.RequestGranted, kubeconfig(t, "https://east.example"))
	for range 2 { // the second time after a restart
		c, err := WaitFor(t.Context(), d.cluster(), "Messaging", "system", standingAccess,
			WithRetryInterval(time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if c.APIServerEndpoint() != "https://east.example" || !c.HasClient() || c.ID() != "onboarding-run" {
			t.Errorf("got %s at %s", c.ID(), c.APIServerEndpoint())
		}
	}
	if diff := cmp.Diff([]string{"ClusterRequest system/messaging--onboarding-run",
		"AccessRequest system/messaging--onboarding-run"}, d.made); diff != "" {
		t.Errorf("requests: -want +got:\n%s", diff)
	}
	ar := &clustersv1alpha1.AccessRequest{}
	if err := d.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: "messaging--onboarding-run"},
		ar); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{LabelManagedBy: "Messaging"}, ar.Labels); diff != "" ||
		ar.Spec.RequestRef.Name != ar.Name {
		t.Errorf("refers to %+v, labels: -want +got:\n%s", ar.Spec.RequestRef, diff)
	}
	more := standingAccess
	more.Token = &clustersv1alpha1.TokenConfig{RoleRefs: []clustersv1alpha1.RoleRef{{Kind: "ClusterRole",
		Name: "edit"}}}
	if _, err := WaitFor(t.Context(), d.cluster(), "Messaging", "system", more,
		WithRetryInterval(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if err := d.Get(t.Context(), client.ObjectKeyFromObject(ar), ar); err != nil ||
		ar.Spec.Token.RoleRefs[0].Name != "edit" {
		t.Errorf("want what is asked for now, got %+v, %v", ar.Spec.Token, err)
	}
}

// TestWaitForNothing: what it says if there is no access.
func TestWaitForNothing(t *testing.T) {
	good := kubeconfig(t, "https://east.example")
	denied := newDesk(t, clustersv1alpha1.RequestDenied, good)
	taken := newDesk(t, clustersv1alpha1.RequestGranted, good)
	theirs := &clustersv1alpha1.ClusterRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "system",
		Name: "messaging--onboarding-run"}}
	if err := taken.granted.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tc := range map[string]struct {
		late bool
		d    *desk
		want error
	}{
		"denied":   {false, denied, serviceprovider.ErrAccessDenied},
		"taken":    {false, taken, serviceprovider.ErrAccessNotOwned},
		"too late": {true, newDesk(t, "", good), context.Canceled},
		"unusable": {false, newDesk(t, clustersv1alpha1.RequestGranted, []byte("a: b: c")),
			clusters.ErrInvalidKubeconfig},
	} {
		ctx := t.Context()
		if tc.late {
			ctx = ended
		}
		if c, err := WaitFor(ctx, tc.d.cluster(), "messaging", "system", standingAccess,
			WithRetryInterval(time.Millisecond)); !errors.Is(err, tc.want) || c != nil {
			t.Errorf("%s: want %v, got %v", name, tc.want, err)
		}
	}
	if _, err := WaitFor(t.Context(), nil, "messaging", "system", standingAccess); err == nil {
		t.Error("want an error without a platform")
	}
}

func tokensOf(c *clusters.Cluster) string { return string(bytes.Join(c.Credentials(), []byte(" "))) }

// TestRenewalsAreRedacted: a token that was renewed is in no line of the log, and the Requester of
// a cluster of WaitFor takes it out of errors.
func TestRenewalsAreRedacted(t *testing.T) {
	d, clk := newDesk(t, clustersv1alpha1.RequestGranted,
		kubeconfig(t, "https://east.example")), testclock.NewFakePassiveClock(time.Now())
	var lines []string
	log := logging.NewLogrLogger(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	b := &renewedToken{
		s:  &programAccess{r: newRequester(t, d.cluster(), WithClock(clk), WithLogger(log))},
		ar: &clustersv1alpha1.AccessRequest{},
	}
	b.setToken(canary)
	d.fails = errCanary
	b.renew(t.Context())
	if all := strings.Join(lines, "\n"); strings.Contains(all, canary) ||
		!strings.Contains(all, "let in by [REDACTED]") {
		t.Errorf("the log has %q", all)
	}
	platform := d.cluster().WithCredentials(b.credentials)
	if err := newRequester(t, platform).redact(clusters.Key{}, errCanary); strings.Contains(err.Error(), canary) ||
		!errors.Is(err, errCanary) {
		t.Errorf("got %v", err)
	}
}

func newRequester(t *testing.T, platform *clusters.Cluster, o ...Option) *Requester {
	t.Helper()
	r, err := New(platform, "messaging", []Registration{standingAccess}, o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)

	return r
}

// TestWaitForRenews: a token that the platform has renewed is used, for requests from many
// sides at the same time, and without a new connection.
func TestWaitForRenews(t *testing.T) {
	var mu sync.Mutex
	accepted, seen := "t1", map[string]int{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Header.Get("Authorization")]++
		if r.Header.Get("Authorization") != "Bearer "+accepted {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	with := func(token string) []byte {
		config := &rest.Config{Host: server.URL, BearerToken: token}
		config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		out, err := clusters.New("granted").WithRESTConfig(config).WriteKubeconfig()
		if err != nil {
			t.Fatal(err)
		}

		return out
	}
	d, clk := newDesk(t, clustersv1alpha1.RequestGranted, with("t1")), testclock.NewFakePassiveClock(time.Now())
	c, err := WaitFor(t.Context(), d.cluster(), "messaging", "system", standingAccess,
		WithRetryInterval(time.Millisecond), WithClock(clk))
	if err != nil {
		t.Fatal(err)
	}
	all, err := rest.HTTPClientFor(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer all.CloseIdleConnections()
	ask := func() int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := all.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()

		return answer.StatusCode
	}
	renewed := func(token string) {
		mu.Lock()
		accepted = token
		mu.Unlock()
		d.secret.Data[keyKubeconfig] = with(token)
		if err := d.Update(t.Context(), d.secret); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(); got != http.StatusOK {
		t.Errorf("got %d", got)
	}
	renewed("t2")
	if got := ask(); got != http.StatusUnauthorized {
		t.Errorf("got %d", got)
	}
	clk.SetTime(clk.Now().Add(time.Second))
	if got := ask(); got != http.StatusOK {
		t.Errorf("the refused token was not renewed, got %d: %v", got, seen)
	}
	if got := tokensOf(c); got != "t2 t1" {
		t.Errorf("the cluster knows of %q", got)
	}
	renewed("t3")
	clk.SetTime(clk.Now().Add(time.Minute))
	if got := ask(); got != http.StatusOK {
		t.Errorf("the token was not renewed after a minute, got %d: %v", got, seen)
	}
	if got := tokensOf(c); got != "t3 t2" {
		t.Errorf("the cluster knows of %q", got)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			clk.SetTime(clk.Now().Add(time.Minute))
			ask()
		})
	}
	group.Wait()
}
