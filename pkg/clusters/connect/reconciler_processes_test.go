package connect

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// A sharedAPI is an API in memory that several processes share, each with its reconciler.
type sharedAPI struct {
	*testing.T

	api    client.Client
	clock  *testclock.FakePassiveClock
	c      *clustersv1alpha1.Cluster
	writes int // of the status
}

// newSharedAPI returns an API with one Cluster.
func newSharedAPI(t *testing.T, c *clustersv1alpha1.Cluster) *sharedAPI {
	t.Helper()
	w := &sharedAPI{T: t, clock: testclock.NewFakePassiveClock(time.Now()), c: c}
	c.Generation = 1
	w.api = fake.NewClientBuilder().WithScheme(
		scheme).WithObjects(c).WithStatusSubresource(c).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(
			ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch,
			opts ...client.SubResourcePatchOption,
		) error {
			w.writes++

			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()

	return w
}

// newProcess returns the reconciler of a process, whose clusters respond.
func (w *sharedAPI) newProcess(secrets client.Reader, file string) *reconciler {
	cache := clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{})
	w.Cleanup(cache.Close)
	r := newReconciler(w.api, secrets, cache, options{
		logger: logging.NewNopLogger(), recorder: event.NewNopRecorder(), clock: w.clock,
		recheckInterval: time.Minute, probeInterval: time.Hour, kubeconfigFile: file,
	})
	r.request = func(context.Context, *record, string) ([]byte, error) {
		return []byte(`{"gitVersion":"v1.0.0"}`), nil
	}

	return r
}

// reconcile runs one pass in a process.
func (w *sharedAPI) reconcile(r *reconciler) {
	w.Helper()
	if _, err := r.Reconcile(w.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.c)}); err != nil {
		w.Fatal(err)
	}
}

// reconcileInTurn runs passes in the processes in turn, because each write causes an
// event for all, and returns the number of status writes.
func (w *sharedAPI) reconcileInTurn(all ...*reconciler) int {
	w.Helper()
	w.writes = 0
	for range 10 {
		for _, r := range all {
			w.reconcile(r)
		}
	}

	return w.writes
}

// expectRevision fails the test unless a process has a connection of the revision, "" for
// none.
func (w *sharedAPI) expectRevision(r *reconciler, want clusters.Revision) {
	w.Helper()
	in, _ := r.cache.(*clusters.Cache[*clusters.Cluster]).Known(client.ObjectKeyFromObject(w.c))
	if in.Revision != want {
		w.Errorf("want a connection of revision %q, got %q", want, in.Revision)
	}
}

// status reads and returns the status.
func (w *sharedAPI) status() clustersv1alpha1.ClusterStatus {
	w.Helper()
	if err := w.api.Get(w.Context(), client.ObjectKeyFromObject(w.c), w.c); err != nil {
		w.Fatal(err)
	}

	return w.c.Status
}

// kubeconfigOf returns a kubeconfig with a token.
func kubeconfigOf(t *testing.T, token string) []byte {
	t.Helper()
	out, err := clusters.New("east").WithRESTConfig(&rest.Config{
		Host: "https://east.example", BearerToken: token,
	}).WriteKubeconfig()
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// TestRotationWithTwoProcesses verifies that the process which finds new settings first
// reports them, and that the other one reads them before it reports anything.
func TestRotationWithTwoProcesses(t *testing.T) {
	for name, change := range map[string]func(w *sharedAPI, secret *corev1.Secret) error{
		"other credentials": func(w *sharedAPI, s *corev1.Secret) error {
			s.Data["kubeconfig"] = kubeconfigOf(t, "second")

			return w.api.Update(t.Context(), s)
		},
		"none any more": func(w *sharedAPI, s *corev1.Secret) error { return w.api.Delete(t.Context(), s) },
		"garbage": func(w *sharedAPI, s *corev1.Secret) error {
			s.Data["kubeconfig"] = []byte("a: b: c")

			return w.api.Update(t.Context(), s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSharedAPI(t, newCluster("default", "east"))
			secret := &corev1.Secret{Data: map[string][]byte{"kubeconfig": kubeconfigOf(t, "first")}}
			secret.Namespace, secret.Name = "default", "east"
			if err := w.api.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			early, late := w.newProcess(w.api, ""), w.newProcess(w.api, "")
			w.reconcile(early)
			w.clock.SetTime(w.clock.Now().Add(40 * time.Second))
			w.reconcile(late) // its recheck is due 40 seconds later
			first := w.status().Revision
			if err := change(w, secret); err != nil {
				t.Fatal(err)
			}
			w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
			if n := w.reconcileInTurn(early, late); n != 1 {
				t.Errorf("want one write for a change, got %d", n)
			}
			now := w.status().Revision
			if now == first {
				t.Errorf("want another revision than %q", first)
			}
			w.expectRevision(early, clusters.Revision(now))
			w.expectRevision(late, clusters.Revision(now))
		})
	}
}

// TestReportedRevisionUnreadable verifies that a process that cannot read the settings
// which another one has reported writes nothing and keeps its connection.
func TestReportedRevisionUnreadable(t *testing.T) {
	w := newSharedAPI(t, newCluster("default", "east"))
	r := w.newProcess(failingReader{err: errLater}, "")
	c := w.c.DeepCopy()
	c.Status.Revision = "b"
	known := &record{generation: 1, statusRevision: "a", input: clusters.Input{Revision: "a", RESTConfig: &rest.Config{}}}
	r.cache.Set(client.ObjectKeyFromObject(c), known.input)
	if _, err := r.reconcileCluster(t.Context(), c, known); err == nil || w.writes != 0 {
		t.Errorf("want an error and nothing written, got %v, %d", err, w.writes)
	}
	w.expectRevision(r, "a")
}

// TestProcessesWithDifferentKubeconfigs verifies that two processes with different
// settings write at most once per recheck interval each, and use their own settings.
func TestProcessesWithDifferentKubeconfigs(t *testing.T) {
	c := newCluster("default", "east")
	c.Spec = clustersv1alpha1.ClusterSpec{Context: "east"}
	for name, theirs := range map[string]string{"another file": "theirs", "no file": ""} {
		t.Run(name, func(t *testing.T) {
			w := newSharedAPI(t, c.DeepCopy())
			files := map[string]string{"": ""}
			for _, owner := range []string{"ours", "theirs"} {
				files[owner] = filepath.Join(t.TempDir(), owner)
				if err := os.WriteFile(files[owner], kubeconfigOf(t, owner), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			one, two := w.newProcess(w.api, files["ours"]), w.newProcess(w.api, files[theirs])
			for minute := range 3 {
				if n := w.reconcileInTurn(one, two); n > 2 {
					t.Errorf("minute %d: want at most a write each, got %d", minute, n)
				}
				w.clock.SetTime(w.clock.Now().Add(time.Minute))
			}
			in, ok := one.cache.(*clusters.Cache[*clusters.Cluster]).Known(client.ObjectKeyFromObject(w.c))
			if !ok || in.RESTConfig.BearerToken != "ours" {
				t.Errorf("want our own connection, got %+v", in)
			}
			in, ok = two.cache.(*clusters.Cache[*clusters.Cluster]).Known(client.ObjectKeyFromObject(w.c))
			if ok != (theirs != "") || ok && in.RESTConfig.BearerToken != theirs {
				t.Errorf("want their own connection, if they have a file, got %+v", in)
			}
		})
	}
}

// TestStatusIsRestored verifies that a cleared status is written again, at the latest
// after the recheck interval.
func TestStatusIsRestored(t *testing.T) {
	c := newCluster("default", "east")
	c.Spec = clustersv1alpha1.ClusterSpec{Context: "east"}
	w := newSharedAPI(t, c)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfigOf(t, "t"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := w.newProcess(w.api, file)
	w.reconcile(r)
	revision := w.status().Revision
	if revision == "" || w.c.GetCondition(commonv1.TypeConnected).Reason != commonv1.ReasonConnectionAvailable {
		t.Fatalf("want it connected, got %+v", w.c.Status)
	}
	w.c.Status = clustersv1alpha1.ClusterStatus{}
	if err := w.api.Status().Update(t.Context(), w.c); err != nil {
		t.Fatal(err)
	}
	w.reconcileInTurn(r)
	w.expectRevision(r, clusters.Revision(revision))
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	if w.reconcileInTurn(r); w.status().Revision != revision {
		t.Errorf("want it as it was, got %+v", w.c.Status)
	}
}

// TestProcessesThatDisagreeAboutHealth verifies that two processes, of which one does not
// reach the cluster, write at most once per recheck interval each, and that a change of
// one's own result is written at once.
func TestProcessesThatDisagreeAboutHealth(t *testing.T) {
	w := newSharedAPI(t, newCluster("default", "east"))
	secret := &corev1.Secret{Data: map[string][]byte{"kubeconfig": kubeconfigOf(t, "t")}}
	secret.Namespace, secret.Name = "default", "east"
	if err := w.api.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	near, far := w.newProcess(w.api, ""), w.newProcess(w.api, "")
	near.options.probeInterval, far.options.probeInterval = 5*time.Second, 5*time.Second
	reaches := true
	answer := far.request
	far.request = func(ctx context.Context, known *record, path string) ([]byte, error) {
		if !reaches {
			return nil, &connectError{commonv1.ReasonConnectionUnavailable, errors.New("no route")}
		}

		return answer(ctx, known, path)
	}
	// minute runs ten probes of each process, and returns the number of status writes.
	minute := func() (writes int) {
		for range 10 {
			writes += w.reconcileInTurn(near, far)
			w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
		}

		return writes
	}
	minute()
	if n := minute(); n != 0 {
		t.Errorf("they agree, and write %d times", n)
	}
	reaches = false
	for range 3 {
		if n := minute(); n == 0 || n > 3 {
			t.Errorf("they disagree: want at most a write each in a minute, got %d", n)
		}
	}
	reaches = true
	minute()
	if h := w.status(); w.c.GetCondition(clustersv1alpha1.TypeHealthy).Status != metav1.ConditionTrue {
		t.Errorf("want it healthy at last, got %+v", h)
	}
	if n := minute(); n != 0 {
		t.Errorf("they agree again, and write %d times", n)
	}
}

// TestHealthReasonChanges verifies that each new reason of bad health is written once,
// and at most once per recheck interval if it differs each time.
func TestHealthReasonChanges(t *testing.T) {
	w := newSharedAPI(t, newCluster("default", "east"))
	secret := &corev1.Secret{Data: map[string][]byte{"kubeconfig": kubeconfigOf(t, "t")}}
	secret.Namespace, secret.Name = "default", "east"
	if err := w.api.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r := w.newProcess(w.api, "")
	r.options.probeInterval = 5 * time.Second
	w.reconcileInTurn(r)
	for n, reason := range []commonv1.ConditionReason{
		commonv1.ReasonConnectionUnavailable, commonv1.ReasonConnectionUnauthorized, commonv1.ReasonConnectionUnavailable,
	} {
		asked := 0
		r.request = func(context.Context, *record, string) ([]byte, error) {
			asked++

			return nil, &connectError{reason, errors.Errorf("failure %d", asked)}
		}
		writes := 0
		for range 10 {
			w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
			writes += w.reconcileInTurn(r)
		}
		w.status()
		if h := w.c.GetCondition(clustersv1alpha1.TypeHealthy); h.Status != metav1.ConditionFalse || h.Reason != reason {
			t.Errorf("%d: want it not healthy for %s, got %s for %s", n, reason, h.Status, h.Reason)
		}
		if writes != 1 {
			t.Errorf("%d: want one write of the status, got %d", n, writes)
		}
	}

	asked := 0
	r.request = func(context.Context, *record, string) ([]byte, error) {
		asked++
		reasons := []commonv1.ConditionReason{commonv1.ReasonConnectionUnavailable, commonv1.ReasonConnectionUnauthorized}

		return nil, &connectError{reasons[asked%2], errors.New("another server")}
	}
	writes := 0
	for range 30 { // three minutes
		w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
		writes += w.reconcileInTurn(r)
	}
	if writes == 0 || writes > 3 {
		t.Errorf("the reason is another one each time: want at most a write in a minute, got %d in three", writes)
	}
}
