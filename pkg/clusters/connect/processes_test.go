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

// An office is an API in memory that several processes share, each with its reconciler.
type office struct {
	*testing.T

	api    client.Client
	clock  *testclock.FakePassiveClock
	c      *clustersv1alpha1.Cluster
	writes int // of the status
}

func newOffice(t *testing.T, c *clustersv1alpha1.Cluster) *office {
	t.Helper()
	w := &office{T: t, clock: testclock.NewFakePassiveClock(time.Now()), c: c}
	c.Generation = 1
	w.api = fake.NewClientBuilder().WithScheme(scheme).WithObjects(c).WithStatusSubresource(c).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			w.writes++

			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()

	return w
}

// process starts one, whose clusters answer to everybody.
func (w *office) process(secrets client.Reader, file string) *reconciler {
	cache := clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{})
	w.Cleanup(cache.Close)
	r := newReconciler(w.api, secrets, cache, options{
		logger: logging.NewNopLogger(), recorder: event.NewNopRecorder(), clock: w.clock, recheck: time.Minute, probe: time.Hour, file: file,
	})
	r.ask = func(context.Context, *record, string) ([]byte, error) {
		return []byte(`{"gitVersion":"v1.0.0"}`), nil
	}

	return r
}

// pass lets a process look at the cluster.
func (w *office) pass(r *reconciler) {
	w.Helper()
	if _, err := r.Reconcile(w.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.c)}); err != nil {
		w.Fatal(err)
	}
}

// settle lets processes look at the cluster in turn, as each write wakes them all, and
// returns how often the status was written.
func (w *office) settle(all ...*reconciler) int {
	w.Helper()
	w.writes = 0
	for range 10 {
		for _, r := range all {
			w.pass(r)
		}
	}

	return w.writes
}

// uses compares the revision that a process has a connection of, none for an error.
func (w *office) uses(r *reconciler, want clusters.Revision) {
	w.Helper()
	in, _ := r.cache.(*clusters.Cache[*clusters.Cluster]).Known(client.ObjectKeyFromObject(w.c))
	if in.Revision != want {
		w.Errorf("want a connection of revision %q, got %q", want, in.Revision)
	}
}

func (w *office) status() clustersv1alpha1.ClusterStatus {
	w.Helper()
	if err := w.api.Get(w.Context(), client.ObjectKeyFromObject(w.c), w.c); err != nil {
		w.Fatal(err)
	}

	return w.c.Status
}

func kubeconfigOf(t *testing.T, token string) []byte {
	t.Helper()
	out, err := clusters.New("east").WithRESTConfig(&rest.Config{Host: "https://east.example", BearerToken: token}).WriteKubeconfig()
	if err != nil {
		t.Fatal(err)
	}

	return out
}

// TestRotationWithTwoProcesses: whoever finds new settings first says so, and the other
// one looks at them before it says anything.
func TestRotationWithTwoProcesses(t *testing.T) {
	for name, change := range map[string]func(w *office, secret *corev1.Secret) error{
		"other credentials": func(w *office, s *corev1.Secret) error {
			s.Data["kubeconfig"] = kubeconfigOf(t, "second")

			return w.api.Update(t.Context(), s)
		},
		"none any more": func(w *office, s *corev1.Secret) error { return w.api.Delete(t.Context(), s) },
		"garbage": func(w *office, s *corev1.Secret) error {
			s.Data["kubeconfig"] = []byte("a: b: c")

			return w.api.Update(t.Context(), s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newOffice(t, newCluster("sea", "east"))
			secret := &corev1.Secret{Data: map[string][]byte{"kubeconfig": kubeconfigOf(t, "first")}}
			secret.Namespace, secret.Name = "sea", "east"
			if err := w.api.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			early, late := w.process(w.api, ""), w.process(w.api, "")
			w.pass(early)
			w.clock.SetTime(w.clock.Now().Add(40 * time.Second))
			w.pass(late) // looks again 40 seconds later than the other one
			first := w.status().Revision
			if err := change(w, secret); err != nil {
				t.Fatal(err)
			}
			w.clock.SetTime(w.clock.Now().Add(30 * time.Second))
			if n := w.settle(early, late); n != 1 {
				t.Errorf("want one write for a change, got %d", n)
			}
			now := w.status().Revision
			if now == first {
				t.Errorf("want another revision than %q", first)
			}
			w.uses(early, clusters.Revision(now))
			w.uses(late, clusters.Revision(now))
		})
	}
}

// TestRevisionThatCannotBeLookedInto: who cannot read the settings that somebody else
// speaks of neither says anything, nor lets go of the connection there is.
func TestRevisionThatCannotBeLookedInto(t *testing.T) {
	w := newOffice(t, newCluster("sea", "east"))
	r := w.process(failing{err: errLater}, "")
	c := w.c.DeepCopy()
	c.Status.Revision = "b"
	known := &record{generation: 1, seen: "a", in: clusters.Input{Revision: "a", RESTConfig: &rest.Config{}}}
	r.cache.Set(client.ObjectKeyFromObject(c), known.in)
	if _, err := r.keep(t.Context(), c, known); err == nil || w.writes != 0 {
		t.Errorf("want an error and nothing written, got %v, %d", err, w.writes)
	}
	w.uses(r, "a")
}

// TestProcessesOfDifferentSettings: what two processes cannot agree on they say in turn
// once in a recheck interval, not as fast as they can; each goes its own way.
func TestProcessesOfDifferentSettings(t *testing.T) {
	c := newCluster("sea", "east")
	c.Spec = clustersv1alpha1.ClusterSpec{Context: "east"}
	for name, theirs := range map[string]string{"another file": "theirs", "no file": ""} {
		t.Run(name, func(t *testing.T) {
			w := newOffice(t, c.DeepCopy())
			files := map[string]string{"": ""}
			for _, owner := range []string{"ours", "theirs"} {
				files[owner] = filepath.Join(t.TempDir(), owner)
				if err := os.WriteFile(files[owner], kubeconfigOf(t, owner), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			one, two := w.process(w.api, files["ours"]), w.process(w.api, files[theirs])
			for minute := range 3 {
				if n := w.settle(one, two); n > 2 {
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

// TestStatusThatSomebodyWipes: it is restored, at the latest after the recheck interval.
func TestStatusThatSomebodyWipes(t *testing.T) {
	c := newCluster("sea", "east")
	c.Spec = clustersv1alpha1.ClusterSpec{Context: "east"}
	w := newOffice(t, c)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, kubeconfigOf(t, "t"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := w.process(w.api, file)
	w.pass(r)
	revision := w.status().Revision
	if revision == "" || w.c.GetCondition(commonv1.TypeConnected).Reason != commonv1.ReasonConnectionAvailable {
		t.Fatalf("want it connected, got %+v", w.c.Status)
	}
	w.c.Status = clustersv1alpha1.ClusterStatus{}
	if err := w.api.Status().Update(t.Context(), w.c); err != nil {
		t.Fatal(err)
	}
	w.settle(r)
	w.uses(r, clusters.Revision(revision))
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	if w.settle(r); w.status().Revision != revision {
		t.Errorf("want it as it was, got %+v", w.c.Status)
	}
}

// TestProcessesThatDisagreeAboutHealth: of two processes only one reaches the cluster. Each
// says so once in a recheck interval, not with every probe; whoever changes his mind says
// so at once.
func TestProcessesThatDisagreeAboutHealth(t *testing.T) {
	w := newOffice(t, newCluster("sea", "east"))
	secret := &corev1.Secret{Data: map[string][]byte{"kubeconfig": kubeconfigOf(t, "t")}}
	secret.Namespace, secret.Name = "sea", "east"
	if err := w.api.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	near, far := w.process(w.api, ""), w.process(w.api, "")
	near.o.probe, far.o.probe = 5*time.Second, 5*time.Second
	reaches := true
	answer := far.ask
	far.ask = func(ctx context.Context, known *record, path string) ([]byte, error) {
		if !reaches {
			return nil, &flaw{commonv1.ReasonConnectionUnavailable, errors.New("no route")}
		}

		return answer(ctx, known, path)
	}
	// minute lets both probe ten times, and returns how often the status was written.
	minute := func() (writes int) {
		for range 10 {
			writes += w.settle(near, far)
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

// TestReasonsOfBadHealth: a cluster that was down comes back, and does not accept its
// credentials any more. Why it is not well is told anew, once for each reason, and once in a
// recheck interval if it is another one each time.
func TestReasonsOfBadHealth(t *testing.T) {
	w := newOffice(t, newCluster("sea", "east"))
	secret := &corev1.Secret{Data: map[string][]byte{"kubeconfig": kubeconfigOf(t, "t")}}
	secret.Namespace, secret.Name = "sea", "east"
	if err := w.api.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	r := w.process(w.api, "")
	r.o.probe = 5 * time.Second
	w.settle(r)
	for n, reason := range []commonv1.ConditionReason{
		commonv1.ReasonConnectionUnavailable, commonv1.ReasonConnectionUnauthorized, commonv1.ReasonConnectionUnavailable,
	} {
		asked := 0
		r.ask = func(context.Context, *record, string) ([]byte, error) {
			asked++

			return nil, &flaw{reason, errors.Errorf("failure %d", asked)}
		}
		writes := 0
		for range 10 {
			w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
			writes += w.settle(r)
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
	r.ask = func(context.Context, *record, string) ([]byte, error) {
		asked++
		reasons := []commonv1.ConditionReason{commonv1.ReasonConnectionUnavailable, commonv1.ReasonConnectionUnauthorized}

		return nil, &flaw{reasons[asked%2], errors.New("another server")}
	}
	writes := 0
	for range 30 { // three minutes
		w.clock.SetTime(w.clock.Now().Add(6 * time.Second))
		writes += w.settle(r)
	}
	if writes == 0 || writes > 3 {
		t.Errorf("the reason is another one each time: want at most a write in a minute, got %d in three", writes)
	}
}
