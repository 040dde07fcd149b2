package clusteraccess

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// Those of the defects of package serviceprovider's regression_test.go that are with the
// access provider.

// admitted asks until the platform has granted access to a workload cluster.
func (a *applicant) admitted(expires time.Time) {
	a.Helper()
	a.asks()
	a.phase(find(a, a.r.newClusterRequest(a.r.registered[0], a.request)), clustersv1alpha1.RequestGranted, "")
	a.asks()
	a.phase(a.accessRequest(), clustersv1alpha1.RequestGranted, `,"secretRef":{"name":"granted"}`)
	a.secret(kubeconfig(a.T, "https://east.example"), expires)
	if !a.asks() {
		a.Fatal("want access")
	}
}

func (a *applicant) annotate(body string) {
	a.Helper()
	if err := base.Client().Patch(a.Context(), a.accessRequest(),
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":`+body+`}}`))); err != nil {
		a.Fatal(err)
	}
}

func (a *applicant) access() serviceprovider.Access {
	a.Helper()
	got, err := a.r.Access(a.Context(), a.request, serviceprovider.ClusterWorkload)
	if err != nil {
		a.Fatal(err)
	}

	return got
}

// TestW10OneConnection: one is made for each Secret there is, not for each pass.
func TestW10OneConnection(t *testing.T) {
	var builds atomic.Int32
	a := newApplicant(t, Workload(scheme, token),
		WithBuild(func(_ context.Context, k clusters.Key, in clusters.Input) (*clusters.Cluster, error) {
			builds.Add(1)

			return clusters.New(k.String()).WithRESTConfig(in.RESTConfig), nil
		}))
	a.admitted(time.Now().Add(time.Hour))
	first := a.access()
	for range 5 {
		a.asks()
		if got := a.access(); got != first {
			t.Fatalf("want the same connection, got %+v and %+v", first, got)
		}
	}
	a.annotate(`{"example.org/seen":"yes"}`)
	if a.asks(); a.access() != first || builds.Load() != 1 {
		t.Errorf("the request has changed, its Secret has not: got %d connections", builds.Load())
	}
	a.secret(kubeconfig(t, "https://east.example"), time.Now().Add(time.Hour))
	a.annotate(`{"example.org/seen":"again"}`)
	if a.asks(); a.access().Revision == first.Revision || a.access().Cluster == first.Cluster || builds.Load() != 2 {
		t.Errorf("the Secret is another one: got %d connections", builds.Load())
	}
}

// TestW11ChangesAreNoticed: whatever happens to the requests of an object or to the Secret
// wakes it, without a poll.
func TestW11ChangesAreNoticed(t *testing.T) {
	own := clusters.New("platform").WithRESTConfig(base.RESTConfig())
	if err := own.InitializeClient(scheme); err != nil {
		t.Fatal(err)
	}
	r, err := New(own, "Garden", []Registration{Workload(scheme, token)}, WithRecheckInterval(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := &applicant{t, r, newRequest()}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	go func() { _ = own.Cluster().Start(t.Context()) }()
	for _, s := range r.AccessSources() {
		if err := s.Start(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if syncing, ok := s.(source.SyncingSource); ok {
			if err := syncing.WaitForSync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	// woken waits until the object is, and does what it would do.
	woken := func(why string, then func() bool) {
		t.Helper()
		wait.Until(t, why, func() bool {
			for q.Len() > 0 {
				got, _ := q.Get()
				q.Done(got)
				if got == a.request && then() {
					return true
				}
			}

			return false
		})
	}
	cr, ar := r.newClusterRequest(r.registered[0], a.request), r.newAccessRequest(r.registered[0], a.request)
	exists := func(o client.Object) bool {
		return base.Client().Get(t.Context(), client.ObjectKeyFromObject(o), o) == nil
	}
	a.asks()
	woken("its ClusterRequest was made", func() bool { return exists(cr) })
	a.phase(find(a, cr), clustersv1alpha1.RequestGranted, "")
	woken("its ClusterRequest was granted", func() bool { a.asks(); return exists(ar) })
	a.secret(kubeconfig(t, "https://east.example"), time.Now().Add(time.Hour))
	a.phase(find(a, ar), clustersv1alpha1.RequestGranted, `,"secretRef":{"name":"granted"}`)
	woken("its AccessRequest was granted", a.asks)
	first := a.access().Revision
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ar.Namespace, Name: "granted"}}
	if err := base.Client().Patch(t.Context(), secret,
		client.RawPatch("application/merge-patch+json", []byte(`{"stringData":{"rotated":"yes"}}`))); err != nil {
		t.Fatal(err)
	}
	woken("its Secret was rotated", func() bool { return a.access().Revision != first })
}

// TestW20HostFromAnnotation: the clusters may be reached at other addresses from here, and
// have to prove that they are the same.
func TestW20HostFromAnnotation(t *testing.T) {
	const key = "example.org/localhost"
	for name, tc := range map[string]struct {
		annotation string
		from       rest.Config
		want       rest.Config
		fails      bool
	}{
		"none": {"", rest.Config{Host: "https://east.example:6443"},
			rest.Config{Host: "https://east.example:6443"}, false},
		"there is one": {"https://127.0.0.1:7000", rest.Config{Host: "https://east.example:6443"}, rest.Config{
			Host:            "https://127.0.0.1:7000",
			TLSClientConfig: rest.TLSClientConfig{ServerName: "east.example"},
		}, false},
		"named server": {
			"https://127.0.0.1:7000", rest.Config{
				Host:            "https://10.0.0.1",
				TLSClientConfig: rest.TLSClientConfig{ServerName: "east"},
			},
			rest.Config{
				Host:            "https://127.0.0.1:7000",
				TLSClientConfig: rest.TLSClientConfig{ServerName: "east"},
			}, false,
		},
		"no URL": {"127.0.0.1:7000", rest.Config{Host: "https://east.example"},
			rest.Config{Host: "https://east.example"}, true},
		"plain http": {"http://127.0.0.1", rest.Config{Host: "https://east.example"},
			rest.Config{Host: "https://east.example"}, true},
		"userinfo": {"https://u:p@127.0.0.1", rest.Config{Host: "https://east.example"},
			rest.Config{Host: "https://east.example"}, true},
		"unclear where": {"https://127.0.0.1", rest.Config{Host: "https://%zz"}, rest.Config{Host: "https://%zz"},
			true},
	} {
		ar := &clustersv1alpha1.AccessRequest{}
		if tc.annotation != "" {
			ar.Annotations = map[string]string{key: tc.annotation}
		}
		err := HostFromAnnotation(key)(ar, &tc.from)
		if (err != nil) != tc.fails || tc.from.Host != tc.want.Host || tc.from.ServerName != tc.want.ServerName {
			t.Errorf("%s: got %s as %q, %v", name, tc.from.Host, tc.from.ServerName, err)
		}
	}

	a := newApplicant(t, Workload(scheme, token), WithRewriteRESTConfig(HostFromAnnotation(key)))
	a.admitted(time.Now().Add(time.Hour))
	for _, address := range []string{"https://127.0.0.1:7000", "https://127.0.0.1:7001"} {
		a.annotate(`{"` + key + `":"` + address + `"}`)
		if a.asks(); a.access().Cluster.APIServerEndpoint() != address {
			t.Errorf("want %s, got %s", address, a.access().Cluster.APIServerEndpoint())
		}
	}
	a.annotate(`{"` + key + `":"nowhere"}`)
	if _, err := a.r.Reconcile(t.Context(), a.request); err == nil {
		t.Error("want an error")
	}
}

// TestDeniedLater: access that is taken back is none any more, and its Secret of no
// interest.
func TestDeniedLater(t *testing.T) {
	a := newApplicant(t, Workload(scheme, token))
	a.admitted(time.Now().Add(time.Hour))
	a.phase(a.accessRequest(), clustersv1alpha1.RequestDenied, "")
	if _, err := a.r.Reconcile(t.Context(), a.request); !errors.Is(err, serviceprovider.ErrAccessDenied) {
		t.Errorf("want %v, got %v", serviceprovider.ErrAccessDenied, err)
	}
	if _, err := a.r.Access(t.Context(), a.request,
		serviceprovider.ClusterWorkload); !errors.Is(err, clusters.ErrNotFound) || len(a.r.allGrants()) != 0 {
		t.Errorf("want %v and nothing known, got %v and %v", clusters.ErrNotFound, err, a.r.allGrants())
	}
	a.phase(a.accessRequest(), clustersv1alpha1.RequestGranted, "")
	if !a.asks() || a.access().Cluster == nil {
		t.Error("want access, since it is granted again")
	}
}
