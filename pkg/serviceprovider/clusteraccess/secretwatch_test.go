package clusteraccess

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestW11SecretsAreWatched: a Secret that is rotated or deleted is noticed, though nothing
// reads Secrets periodically or uses the connection.
func TestW11SecretsAreWatched(t *testing.T) {
	own := clusters.New("platform").WithRESTConfig(base.RESTConfig())
	if err := own.InitializeClient(scheme); err != nil {
		t.Fatal(err)
	}
	r, err := New(own, "Garden", []Registration{Workload(scheme, token)}, WithRecheckInterval(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := &applicant{t, r, newRequest()}
	a.admitted(time.Now().Add(time.Hour)) // before anything is watched
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	context.AfterFunc(wait.Context(t), q.ShutDown)
	go func() { _ = own.Cluster().Start(t.Context()) }()
	if !own.Cluster().GetCache().WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not start")
	}
	if err := r.AccessSources()[0].Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	woken := func(why string) {
		t.Helper()
		got, over := q.Get()
		q.Done(got)
		if over || got != a.request {
			t.Fatalf("%s: got %v", why, got)
		}
	}
	first := a.access().Revision
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.registered[0].namespace(a.request), Name: "granted",
	}}
	rotated := fmt.Appendf(nil, `{"stringData":{"kubeconfig":%q}}`, kubeconfig(t, "https://west.example"))
	if err := base.Client().Patch(t.Context(), secret,
		client.RawPatch("application/merge-patch+json", rotated)); err != nil {
		t.Fatal(err)
	}
	woken("it is another one")
	if !a.asks() || a.access().Revision == first || a.access().Cluster.APIServerEndpoint() != "https://west.example" {
		t.Error("want another connection")
	}
	if err := base.Client().Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	woken("it is gone")
	if a.asks() {
		t.Error("want it to wait for access")
	}
	if _, err := r.Access(t.Context(), a.request, serviceprovider.ClusterWorkload); err == nil {
		t.Error("want no connection without credentials")
	}
}

// TestCorrectedSecret: one that cannot be used is noticed as soon as it can.
func TestCorrectedSecret(t *testing.T) {
	a := newApplicant(t, Workload(scheme, token), WithRecheckInterval(24*time.Hour))
	a.asks()
	a.phase(find(a, a.r.newClusterRequest(a.r.registered[0], a.request)), clustersv1alpha1.RequestGranted, "")
	a.asks()
	a.phase(a.accessRequest(), clustersv1alpha1.RequestGranted, `,"secretRef":{"name":"granted"}`)
	a.secret([]byte("a: b: c"), time.Time{})
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	context.AfterFunc(wait.Context(t), q.ShutDown)
	go a.r.watchSecrets(t.Context(), q)
	if err := a.r.startFollower(t.Context(), base.Cluster()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := a.r.Reconcile(t.Context(), a.request); !errors.Is(err, clusters.ErrInvalidKubeconfig) {
			t.Fatalf("want %v, got %v", clusters.ErrInvalidKubeconfig, err)
		}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.r.registered[0].namespace(a.request), Name: "granted",
	}}
	good := fmt.Appendf(nil, `{"stringData":{"kubeconfig":%q},"data":{"expirationTimestamp":null}}`,
		kubeconfig(t, "https://west.example"))
	if err := base.Client().Patch(t.Context(), secret,
		client.RawPatch("application/merge-patch+json", good)); err != nil {
		t.Fatal(err)
	}
	if got, over := q.Get(); over || got != a.request {
		t.Fatalf("nobody has noticed it, got %v", got)
	}
	if !a.asks() {
		t.Error("want access")
	}
}

// TestRefusedCredentials: a server that does not accept the credentials lets the Secret be
// read in the next pass, though nothing else has changed, and once in a second at most.
func TestRefusedCredentials(t *testing.T) {
	var refuses atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if refuses.Load() {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer server.Close()
	clk := testclock.NewFakePassiveClock(time.Now())
	a := newApplicant(t, Workload(scheme, token), WithClock(clk))
	a.admitted(time.Now().Add(time.Hour))
	plain, err := clusters.New("granted").WithRESTConfig(&rest.Config{Host: server.URL}).WriteKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	a.secret(plain, time.Now().Add(time.Hour))
	a.annotate(`{"example.org/seen":"yes"}`)
	a.asks()
	use := func() {
		t.Helper()
		_ = a.access().Cluster.Client().Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})
	}
	rotate := func() { a.secret(plain, time.Now().Add(time.Hour)) }
	changes := func(what string, want bool) {
		t.Helper()
		before := a.access().Revision
		if !a.asks() {
			t.Fatalf("%s: want access", what)
		}
		if got := a.access().Revision != before; got != want {
			t.Errorf("%s: want another connection: %t, got %t", what, want, got)
		}
	}
	clk.SetTime(clk.Now().Add(time.Minute))
	use()
	rotate()
	changes("the server accepts them", false)
	refuses.Store(true)
	use()
	changes("the server refuses them", true)
	use()
	rotate()
	changes("they were read a moment ago", false)
	clk.SetTime(clk.Now().Add(time.Minute))
	use()
	changes("they were read a minute ago", true)
}

// forbidding counts watches, and allows none.
type forbidding struct{ asked int }

func (f *forbidding) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	f.asked++

	return nil, kerrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", nil)
}

// TestForbiddenWatches: what was forbidden is not asked for again for each Secret.
func TestForbiddenWatches(t *testing.T) {
	f, clk := &forbidding{}, testclock.NewFakePassiveClock(time.Now())
	s := &pausingWatcher{Watcher: f, clock: clk}
	for range 3 {
		if _, err := s.Watch(t.Context(), nil); !kerrors.IsForbidden(err) {
			t.Errorf("want it forbidden, got %v", err)
		}
	}
	clk.SetTime(clk.Now().Add(forbiddenPause))
	_, _ = s.Watch(t.Context(), nil)
	if f.asked != 2 {
		t.Errorf("want it asked once in ten minutes, got %d times", f.asked)
	}
}
