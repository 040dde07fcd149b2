package serviceprovider

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// The tests of this file are named after the numbers of the defects of an earlier runtime that
// they prevent. Those for W10, W20 and most of W11 are in package clusteraccess.

// TestW1RestartChangesNothing verifies that an object stays Ready while a new process has not
// loaded its configuration yet.
func TestW1RestartChangesNothing(t *testing.T) {
	w := newWorld(t)
	f := w.create("foo")
	w.steady(f)
	before := w.get(f)
	w.config = nil
	w.restart()
	if result := w.steady(f); result.RequeueAfter == 0 {
		t.Error("want another look")
	}
	if diff := cmp.Diff(before, w.get(f)); diff != "" {
		t.Errorf("the object has changed: -before +after:\n%s", diff)
	}
	if n := len(w.domain.called()); n != 1 {
		t.Errorf("the domain was called without a configuration, %d times in all", n)
	}
}

// flakyClient is a client whose reads fail on demand.
type flakyClient struct {
	client.Client

	err error
}

func (s *flakyClient) List(ctx context.Context, l client.ObjectList, o ...client.ListOption) error {
	if s.err != nil {
		return s.err
	}

	return s.Client.List(ctx, l, o...)
}

func (s *flakyClient) Get(ctx context.Context, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*FooConfig); ok && s.err != nil {
		return s.err
	}

	return s.Client.Get(ctx, k, o, opts...)
}

// createNamedConfig creates a configuration with the name of the world, and returns its source.
func createNamedConfig(w *world, c client.Client) (*FooConfig, ConfigSource[*Foo, *FooConfig]) {
	w.Helper()
	config := &FooConfig{
		ObjectMeta: metav1.ObjectMeta{Name: w.ns}, Poll: metav1.Duration{Duration: time.Minute}, Image: "v1",
	}
	w.Create(config)

	return config, NamedConfig[*Foo](clusters.NewTestClusterFromClient("platform", c), w.ns, newFooConfig)
}

// TestW2ErrorsChangeNothing verifies that the last configuration is used while it cannot be read,
// and that the status stays if none was ever read.
func TestW2ErrorsChangeNothing(t *testing.T) {
	w := newWorld(t)
	platform := &flakyClient{Client: api}
	_, source := createNamedConfig(w, platform)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(source) }
	f := w.create("foo")
	w.steady(f)
	before := w.get(f)
	platform.err = boom
	w.steady(f)
	if n := len(w.domain.called()); n != 2 || w.domain.config.Image != "v1" {
		t.Errorf("want it to go on with the configuration, got %d calls and %+v", n, w.domain.config)
	}

	source = NamedConfig[*Foo](clusters.NewTestClusterFromClient("platform", platform), w.ns, newFooConfig)
	w.restart()
	if _, err := w.pass(f); !errors.Is(err, boom) {
		t.Errorf("want %v, got %v", boom, err)
	}
	if diff := cmp.Diff(before, w.get(f)); diff != "" {
		t.Errorf("the object has changed: -before +after:\n%s", diff)
	}

	r := NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(newFooConfig).ProviderName(w.ns).
		PlatformCluster(clusters.NewTestClusterFromClient(
			"platform", platform)).UpdateChannel(make(chan ctrlevent.GenericEvent)).MustBuild()
	if _, err := r.Reconcile(t.Context(), reconcile.Request{}); !errors.Is(err, boom) {
		t.Errorf("over a channel: want %v and nothing sent, got %v", boom, err)
	}
}

// TestW3BlockedChannel verifies that a ConfigReconciler without a receiver ends with its context.
func TestW3BlockedChannel(t *testing.T) {
	w := newWorld(t)
	r := NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(newFooConfig).ProviderName("foo").
		PlatformCluster(w.home).UpdateChannel(make(chan ctrlevent.GenericEvent)).MustBuild()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: w.ns}}); err == nil {
		t.Error("want an error")
	}
}

// TestW4ConfigGoneFirst verifies that a deletion uses the last known configuration, also one that
// is being deleted, and follows the policy if there was none.
func TestW4ConfigGoneFirst(t *testing.T) {
	t.Run("Last", func(t *testing.T) {
		w := newWorld(t)
		config, source := createNamedConfig(w, api)
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(source) }
		f := w.create("foo")
		w.steady(f)
		w.Delete(config)
		w.steady(f)
		w.expect(f, "Progressing", ReasonReconcileError)
		w.Delete(f)
		w.steady(f)
		if !w.Gone(f) || w.domain.config.Image != "v1" {
			t.Errorf("want it deleted with the last configuration, got %+v", w.domain.config)
		}
	})
	t.Run("Terminating", func(t *testing.T) {
		w := newWorld(t)
		config, source := createNamedConfig(w, api)
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(source) }
		patch := client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"finalizers":["example.org/kept"]}}`))
		w.Must(api.Patch(t.Context(), config, patch))
		t.Cleanup(func() {
			_ = api.Patch(
				context.Background(), config,
				client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		})
		f := w.create("foo", func(f *Foo) { f.Finalizers = []string{finalizer} })
		w.Delete(config)
		w.steady(f)
		w.expect(f, "Progressing", ReasonReconcileError)
		w.Delete(f)
		w.steady(f)
		if diff := cmp.Diff([]string{"Delete"}, w.domain.called()); diff != "" || !w.Gone(f) {
			t.Errorf("calls: -want +got:\n%s", diff)
		}
	})
	for policy, want := range map[DeletionPolicy]struct {
		gone  bool
		calls []string
	}{
		DeletionBlock:  {false, nil},
		DeletionOrphan: {true, nil},
		DeletionDelete: {true, []string{"Delete"}},
	} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			source := NamedConfig[*Foo](w.home, "nothing", newFooConfig)
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(source).WithoutConfig(policy) }
			f := w.create("foo", func(f *Foo) { f.Finalizers = []string{finalizer} })
			w.Delete(f)
			w.steady(f)
			if diff := cmp.Diff(want.calls, w.domain.called()); diff != "" || w.Gone(f) != want.gone {
				t.Errorf("gone: %t, calls: -want +got:\n%s", w.Gone(f), diff)
			}
			if want.calls != nil && w.domain.config != nil {
				t.Errorf("want no configuration, got %+v", w.domain.config)
			}
			if want.gone {
				return
			}
			w.expect(f, "Terminating", ReasonConfigMissing)
			w.steady(f)
			if w.condition(f, ConditionDeletionBlocked) != "True/ConfigMissing" ||
				!slices.Equal(w.teller.events, []string{"Warning DeletionBlocked"}) {
				t.Errorf("want it said, and told once: %v", w.teller.events)
			}
			source = StaticConfig[*Foo](w.config)
			w.restart()
			w.steady(f)
			if !w.Gone(f) {
				t.Error("want it to go on when there is a configuration")
			}
		})
	}
}

// TestW5ClusterGoneFirst verifies that a deletion whose cluster does not exist follows the policy.
func TestW5ClusterGoneFirst(t *testing.T) {
	for policy, gone := range map[DeletionPolicy]bool{DeletionBlock: false, DeletionOrphan: true} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.OnClusterGone(policy) }
			f := w.create("foo", func(f *Foo) { f.Finalizers = []string{finalizer} })
			w.Delete(f)
			w.gate.err = ErrClusterGone
			w.steady(f)
			if w.Gone(f) != gone || len(w.domain.called()) != 0 {
				t.Errorf("want gone %t, got %t and %v", gone, w.Gone(f), w.domain.calls)
			}
			if !gone && w.condition(f, ConditionDeletionBlocked) != "True/ClusterGone" {
				t.Errorf("got %s", w.condition(f, ConditionDeletionBlocked))
			}
			if gone {
				return
			}
			w.gate.err, w.domain.result.RequeueAfter = nil, time.Second
			w.steady(f)
			if got := w.condition(f, ConditionDeletionBlocked); got != "" {
				t.Errorf("it is not blocked any more, but says %s", got)
			}
		})
	}
}

// TestW6StatusSurvives verifies that writes of the main resource keep the status, and that status
// written by others meanwhile is kept.
func TestW6StatusSurvives(t *testing.T) {
	t.Run("FirstPass", func(t *testing.T) {
		w := newWorld(t)
		f := w.create("foo")
		w.domain.do = func(_ context.Context, f *Foo) error { f.Status.Note = "kept"; return nil }
		w.steady(f)
		if got := w.expect(f, "Ready", ReasonReconcileSuccess); got.Status.Note != "kept" || len(got.Finalizers) != 1 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("UpdateOfTheDomain", func(t *testing.T) {
		w := newWorld(t)
		f := w.create("foo")
		w.domain.do = func(ctx context.Context, f *Foo) error {
			f.Labels = map[string]string{"instance": "7"}

			return api.Update(ctx, f)
		}
		w.steady(f)
		if got := w.expect(f, "Ready", ReasonReconcileSuccess); got.Labels["instance"] != "7" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("OthersWroteMeanwhile", func(t *testing.T) {
		w := newWorld(t)
		f := w.create("foo")
		w.domain.do = func(ctx context.Context, f *Foo) error {
			theirs := w.get(f)
			theirs.Status.Other = "theirs"
			meta.SetStatusCondition(&theirs.Status.Conditions,
				metav1.Condition{Type: "Backup", Status: "True", Reason: "Done"})
			f.Status.Note = "ours"

			return api.Status().Update(ctx, theirs)
		}
		w.steady(f)
		got := w.expect(f, "Ready", ReasonReconcileSuccess)
		if got.Status.Other != "theirs" || got.Status.Note != "ours" || w.condition(f, "Backup") != "True/Done" {
			t.Errorf("got %+v", got.Status)
		}
	})
	t.Run("FinalizerOfAnother", func(t *testing.T) {
		w := newWorld(t)
		f := w.create("foo", func(f *Foo) { f.Finalizers = []string{finalizer, "example.org/theirs"} })
		w.domain.do = func(_ context.Context, f *Foo) error { f.Status.Note = "removed"; return nil }
		w.Delete(f)
		w.steady(f)
		if got := w.expect(f, "Terminating", ReasonTerminating); got.Status.Note != "removed" ||
			!slices.Equal(got.Finalizers, []string{"example.org/theirs"}) {
			t.Errorf("want what was said before our finalizer went, got %+v", got)
		}
		w.Must(api.Patch(
			t.Context(), f, client.RawPatch("application/merge-patch+json",
				[]byte(`{"metadata":{"finalizers":null}}`))))
	})
	t.Run("ConflictIsSilent", func(t *testing.T) {
		w := newWorld(t)
		f := w.create("foo")
		// The cache is stale: the finalizer is added to an old version.
		old := w.get(f)
		w.Must(api.Patch(t.Context(), f, client.RawPatch("application/merge-patch+json",
			[]byte(`{"spec":{"size":"xl"}}`))))
		w.restart()
		w.r.cache = staleReader{w.home.Client(), old}
		result, err := w.pass(f)
		if err != nil || !result.Requeue || len(w.domain.called()) != 0 { //nolint:staticcheck // that is what is returned
			t.Errorf("got %+v, %v", result, err)
		}
	})
}

// staleReader is a cache that contains an old version of an object.
type staleReader struct {
	client.Reader

	old *Foo
}

func (l staleReader) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	*o.(*Foo) = *l.old.DeepCopyObject().(*Foo)

	return nil
}

// TestStaleCacheIsDetected verifies that a pass does not start with a version older than our last
// write.
func TestStaleCacheIsDetected(t *testing.T) {
	w := newWorld(t)
	f := w.create("foo")
	old := w.get(f)
	w.restart()
	w.r.cache = staleReader{w.home.Client(), old}
	w.steady(f)
	before := w.get(f).ResourceVersion
	w.steady(f) // the cache still shows no finalizer and no status
	if after := w.get(f).ResourceVersion; after != before || len(w.domain.called()) != 2 {
		t.Errorf("written again: %s, %s", before, after)
	}
}

// TestW7WaitingShows verifies that the status of an object that waits for access says so.
func TestW7WaitingShows(t *testing.T) {
	w := newWorld(t)
	w.gate.pending = time.Second
	f := w.create("foo")
	w.steady(f)
	w.expect(f, "Progressing", ReasonWaitingForClusterAccess)
	if got := w.condition(f, ConditionClusterAccessReady); got != "False/WaitingForClusterAccess" {
		t.Errorf("got %s", got)
	}
	w.gate.pending = 0
	w.steady(f)
	if got := w.condition(f, ConditionClusterAccessReady); got != "True/Granted" {
		t.Errorf("got %s", got)
	}
}

// TestW8DeletionsAreTerminating verifies that the phase of a deletion is Terminating, also if
// access is unknown.
func TestW8DeletionsAreTerminating(t *testing.T) {
	w := newWorld(t)
	w.gate.lookErr = boom
	f := w.create("foo", func(f *Foo) { f.Finalizers = []string{finalizer} })
	w.Delete(f)
	if _, err := w.pass(f); !errors.Is(err, boom) {
		t.Errorf("want %v, got %v", boom, err)
	}
	w.expect(f, "Terminating", ReasonReconcileError)
}

// TestW9DeniedShows verifies that a denial emits one event, is not retried with backoff, and ends
// when access is granted.
func TestW9DeniedShows(t *testing.T) {
	w := newWorld(t)
	w.gate.err = ErrAccessDenied
	f := w.create("foo")
	w.steady(f)
	if result := w.steady(f); result.RequeueAfter != longRequeue ||
		!slices.Equal(w.teller.events, []string{"Warning ClusterAccessDenied"}) {
		t.Errorf("got %+v and %v", result, w.teller.events)
	}
	w.expect(f, "Progressing", ReasonClusterAccessDenied)
	w.gate.err = nil
	w.steady(f)
	w.expect(f, "Ready", ReasonReconcileSuccess)
}

// TestW12FanOutComesLast verifies that objects requeued because of another object do not delay
// changes by users.
func TestW12FanOutComesLast(t *testing.T) {
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	user, fanned := reconcile.Request{NamespacedName: client.ObjectKey{Name: "user"}}, reconcile.Request{
		NamespacedName: client.ObjectKey{Name: "fanned"},
	}
	f := fanOut{func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{fanned} }}
	f.Create(t.Context(), ctrlevent.CreateEvent{Object: &Foo{}}, q)
	q.Add(user)
	for _, want := range []reconcile.Request{user, fanned} {
		if got, _, _ := q.GetWithPriority(); got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}

	plain := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer plain.ShutDown()
	f.Create(t.Context(), ctrlevent.CreateEvent{Object: &Foo{}, IsInInitialList: true}, plain)
	f.Update(t.Context(), ctrlevent.UpdateEvent{ObjectOld: &Foo{}, ObjectNew: &Foo{}}, plain)
	if plain.Len() != 0 {
		t.Error("woken by nothing")
	}
	var h handler.EventHandler = f
	h.Delete(t.Context(), ctrlevent.DeleteEvent{Object: &Foo{}}, plain)
	if plain.Len() != 1 {
		t.Error("not woken by a deletion")
	}
	got, _ := plain.Get()
	plain.Done(got)
	h.Generic(t.Context(), ctrlevent.GenericEvent{Object: &Foo{}}, plain)
	if plain.Len() != 1 {
		t.Error("not woken")
	}
}

// TestW13OwnWritesDoNotRequeue verifies that changes of the status and of our finalizer cause no
// reconcile, and that changes by users and other controllers do.
func TestW13OwnWritesDoNotRequeue(t *testing.T) {
	w := newWorld(t)
	w.restart()
	p := w.r.defaultPredicate()
	for name, tc := range map[string]struct {
		change func(*Foo)
		want   bool
	}{
		"status":            {func(f *Foo) { f.Status.Phase = "Ready"; f.ResourceVersion = "2" }, false},
		"our finalizer":     {func(f *Foo) { f.Finalizers = []string{finalizer} }, false},
		"another finalizer": {func(f *Foo) { f.Finalizers = []string{"theirs"} }, true},
		"spec":              {func(f *Foo) { f.Generation = 2 }, true},
		"label":             {func(f *Foo) { f.Labels = map[string]string{"a": "b"} }, true},
		"annotation":        {func(f *Foo) { f.Annotations = map[string]string{"a": "b"} }, true},
		"deletion":          {func(f *Foo) { f.DeletionTimestamp = new(metav1.Now()) }, true},
		"twin":              {func(f *Foo) { f.UID = "other" }, true},
	} {
		now := &Foo{}
		tc.change(now)
		if got := p.Update(ctrlevent.UpdateEvent{ObjectOld: &Foo{}, ObjectNew: now}); got != tc.want {
			t.Errorf("%s: want %t, got %t", name, tc.want, got)
		}
	}
}

// TestW14ResultsAreKept verifies that the result of the domain reaches the queue unless the poll
// interval or the expiry of credentials is shorter.
func TestW14ResultsAreKept(t *testing.T) {
	w := newWorld(t)
	addCluster(w)
	w.domain.result = ctrl.Result{Requeue: true, Priority: new(7)} //nolint:staticcheck // older domains return Requeue
	f := w.create("foo")
	result := w.steady(f)
	if !result.Requeue || result.RequeueAfter != 0 || //nolint:staticcheck // the same
		result.Priority == nil || *result.Priority != 7 {
		t.Errorf("got %+v", result)
	}
	w.domain.result.RequeueAfter = time.Hour
	if result := w.steady(f); result.RequeueAfter <= 0 || result.RequeueAfter > 20*time.Second {
		t.Errorf("who says when is called before the credentials expire, got %s", result.RequeueAfter)
	}
	w.domain.result.RequeueAfter = 0
	w.Delete(f)
	if result := w.steady(f); !result.Requeue || result.RequeueAfter != 0 || //nolint:staticcheck // the same
		w.Gone(f) {
		t.Errorf("a Delete that wants to be called again is not done: %+v", result)
	}
	w.domain.result, w.domain.err = ctrl.Result{}, reconcile.TerminalError(boom)
	if _, err := w.pass(f); !errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("a terminal error is one no more: %v", err)
	}
}

// TestW15Paused verifies the condition and the single event of a paused object, the key of the
// annotation, and the option for deletions.
func TestW15Paused(t *testing.T) {
	w := newWorld(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.OperationAnnotation("example.org/do") }
	f := w.create("foo", func(f *Foo) { f.Annotations = map[string]string{"example.org/do": OperationIgnore} })
	w.steady(f)
	w.steady(f)
	if w.condition(f, ConditionSynced) != "False/ReconcilePaused" ||
		!slices.Equal(w.teller.events, []string{"Normal ReconciliationPaused"}) {
		t.Errorf("got %s and %v", w.condition(f, ConditionSynced), w.teller.events)
	}
	resume := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":null}}`))
	w.Must(api.Patch(t.Context(), f, resume))
	w.steady(f)
	if w.condition(f, ConditionSynced) != "True/ReconcileSuccess" {
		t.Errorf("got %s", w.condition(f, ConditionSynced))
	}

	for _, deletes := range []bool{false, true} {
		w := newWorld(t)
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.DeleteWhenPaused(deletes) }
		f := w.create("foo", annotated(OperationIgnore), func(f *Foo) { f.Finalizers = []string{finalizer} })
		w.Delete(f)
		w.steady(f)
		if w.Gone(f) != deletes {
			t.Errorf("DeleteWhenPaused(%t): gone is %t", deletes, w.Gone(f))
		}
	}
}

// TestW16Builders checks the errors and panics for missing values, also for an interface that holds
// nil, and that later calls do not change the reconciler.
func TestW16Builders(t *testing.T) {
	w := newWorld(t)
	for name, spoil := range map[string]func(b *APIReconcilerBuilder[*Foo, *FooConfig]){
		"cluster access reconciler": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.ClusterAccessReconciler((*fakeProvider)(nil))
		},
		"empty object provider": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.EmptyObjectProvider(nil) },
		"onboarding cluster":    func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.OnboardingCluster(nil) },
		"platform cluster": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.PlatformCluster(clusters.New("nowhere"))
		},
		"reconciler":              func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler((*domain)(nil)) },
		"further clusters":        func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Clusters("a") },
		"policy":                  func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.OnClusterGone(DeletionDelete) },
		"policy/without a config": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.WithoutConfig("Maybe") },
		"annotation":              func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.OperationAnnotation("") },
		"cluster access reconciler/behind an adapter": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.AdvancedClusterAccessReconciler(SimpleProviderAdapter{Provider: (*fakeProvider)(nil)})
		},
		"cluster access reconciler/behind a pointer to an adapter": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.AdvancedClusterAccessReconciler(&SimpleProviderAdapter{})
		},
		"further clusters/of a pointer to an adapter": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.AdvancedClusterAccessReconciler(&SimpleProviderAdapter{Provider: w.gate}).Clusters("a")
		},
		"cluster access reconciler/advanced": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.AdvancedClusterAccessReconciler((*advancedProvider)(nil))
		},
		"config source": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.ConfigSource((*selectedConfig[*Foo, *FooConfig])(nil))
		},
		"data generator": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.AdditionalDataGenerators(nil) },
		"recorder":       func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Recorder(nil) },
		"logger":         func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Logger(nil) },
		"clock":          func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Clock(nil, nil) },
	} {
		b := w.builder()
		spoil(b)
		what, _, _ := strings.Cut(name, "/")
		if r, err := b.Build(); err == nil || r != nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: want an error that says so, got %v, %v", name, r, err)
		}
		mustPanic(t, what, func() { b.MustBuild() })
	}
	b := w.builder()
	first := b.MustBuild()
	second := b.WorkloadCluster(true).MustBuild()
	if first == second || slices.Contains(first.clusterIDs, ClusterWorkload) {
		t.Error("a reconciler was changed after it was built")
	}

	updates := make(chan ctrlevent.GenericEvent)
	whole := func() *ConfigReconcilerBuilder[*FooConfig] {
		return NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(
			newFooConfig).PlatformCluster(w.home).ProviderName("foo").UpdateChannel(updates)
	}
	for name, b := range map[string]*ConfigReconcilerBuilder[*FooConfig]{
		"empty object provider": whole().EmptyObjectProvider(nil), "platform cluster": whole().PlatformCluster(nil),
		"provider name": whole().ProviderName(""), "update channel": whole().UpdateChannel(nil),
		"has no client": whole().PlatformCluster(clusters.New("nowhere")),
	} {
		if r, err := b.Build(); err == nil || r != nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: want an error that says so, got %v, %v", name, r, err)
		}
		mustPanic(t, name, func() { b.MustBuild() })
	}
}

// TestNilConfig verifies that a nil configuration without an error counts as none, in a pass and in
// event handlers, where no panic is recovered.
func TestNilConfig(t *testing.T) {
	w := newWorld(t)
	for name, source := range map[string]ConfigSource[*Foo, *FooConfig]{
		"static": StaticConfig[*Foo]((*FooConfig)(nil)),
		"picked": SelectedConfig(w.home, func(*Foo, []*FooConfig) (*FooConfig, error) { return nil, nil }),
	} {
		t.Run(name, func(t *testing.T) {
			w.T = t
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(source) }
			w.restart()
			w.r.onboarding = clusters.NewTestClusterFromClient("home", worldLister{api, w.ns})
			f := w.create(name)
			w.steady(f)
			w.expect(f, StatusPhaseProgressing, ReasonReconcileError)
			if n := len(w.domain.called()); n != 0 {
				t.Errorf("the domain was called %d times without a configuration", n)
			}
			if got := w.r.enqueueUsers(t.Context(), w.config); len(got) != 0 {
				t.Errorf("nobody uses a configuration, but %v were woken", got)
			}
		})
	}
	w.T = t
}

// TestTwoProvidersOfAName verifies that a second controller of a name in a process, and one without
// a name, is an error.
func TestTwoProvidersOfAName(t *testing.T) {
	w := newWorld(t)
	m, err := ctrl.NewManager(plane, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	w.Must(err)
	if err := w.builder().MustBuild().SetupWithManager(m, w.ns, nil); err != nil {
		t.Error(err)
	}
	for _, name := range []string{w.ns, ""} {
		if err := w.builder().MustBuild().SetupWithManagerNamed(m, name); err == nil {
			t.Errorf("want an error for the name %q", name)
		}
	}
}

// mustPanic expects a panic with an error.
func mustPanic(t *testing.T, what string, do func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: want a panic with an error that says so, got %v", what, err)
		}
	}()
	do()
}

// TestW17PassesAreCounted checks the counter by controller and outcome.
func TestW17PassesAreCounted(t *testing.T) {
	w := newWorld(t)
	w.restart()
	var outcomes []string
	w.r.countOutcome = func(o string) { outcomes = append(outcomes, o) }
	f := w.create("foo")
	w.steady(f)
	w.Delete(f)
	w.steady(f)
	if diff := cmp.Diff([]string{"Worked", "Released"}, outcomes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	outcomeCounter("twice")("Worked")
	outcomeCounter("twice")("Worked")
}

// TestW19ConfigPerObject verifies that objects can have different configurations.
func TestW19ConfigPerObject(t *testing.T) {
	w := newWorld(t)
	for _, size := range []string{"s", "xl"} {
		c := &FooConfig{ObjectMeta: metav1.ObjectMeta{Name: w.ns + "-" + size}, Image: size}
		w.Create(c)
	}
	source := SelectedConfig(w.home, func(f *Foo, all []*FooConfig) (*FooConfig, error) {
		for _, c := range all {
			if c.Name == w.ns+"-"+f.Spec.Size {
				return c, nil
			}
		}

		return nil, ErrConfigNotFound
	})
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(source) }
	for _, size := range []string{"s", "xl"} {
		w.steady(w.create("foo-"+size, func(f *Foo) { f.Spec.Size = size }))
		if w.domain.config.Image != size {
			t.Errorf("want that of %s, got %+v", size, w.domain.config)
		}
	}
	none := w.create("none")
	w.steady(none)
	w.expect(none, "Progressing", ReasonReconcileError)

	// A changed configuration requeues only its users and those that would use it now.
	w.r.onboarding = clusters.NewTestClusterFromClient("home", worldLister{api, w.ns})
	woken := func(size string) (names []string) {
		for _, r := range w.r.enqueueUsers(t.Context(),
			&FooConfig{ObjectMeta: metav1.ObjectMeta{Name: w.ns + "-" + size}}) {
			names = append(names, r.Name)
		}

		return names
	}
	if diff := cmp.Diff([]string{"foo-s"}, woken("s")); diff != "" {
		t.Errorf("its user: -want +got:\n%s", diff)
	}
	w.create("new", func(f *Foo) { f.Spec.Size = "xl" })
	if diff := cmp.Diff([]string{"foo-xl", "new"}, woken("xl")); diff != "" {
		t.Errorf("its user, and who will be: -want +got:\n%s", diff)
	}
	w.Delete(&FooConfig{ObjectMeta: metav1.ObjectMeta{Name: w.ns + "-s"}})
	if diff := cmp.Diff([]string{"foo-s"}, woken("s")); diff != "" {
		t.Errorf("it is gone: -want +got:\n%s", diff)
	}
	if got := woken("nobody-s"); len(got) != 0 {
		t.Errorf("nobody uses it, but %v were woken", got)
	}
}

// TestConfigPredicates verifies that the status of a configuration, and one of another name,
// requeue nothing.
func TestConfigPredicates(t *testing.T) {
	w := newWorld(t)
	source, ok := NamedConfig[*Foo](w.home, "mine", newFooConfig).(*selectedConfig[*Foo, *FooConfig])
	named := func(name, ns string) *FooConfig {
		return &FooConfig{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}}
	}
	if !ok || !source.filter(named("mine", "")) || source.filter(named("other", "")) ||
		source.filter(named("mine", "ns")) {
		t.Error("want the one of the name, without a namespace")
	}
	for name, tc := range map[string]struct {
		change func(*FooConfig)
		want   bool
	}{
		"status":            {func(c *FooConfig) { c.ResourceVersion = "2" }, false},
		"spec":              {func(c *FooConfig) { c.Generation = 2 }, true},
		"annotation":        {func(c *FooConfig) { c.Annotations = map[string]string{"a": "b"} }, true},
		"deletion":          {func(c *FooConfig) { c.DeletionTimestamp = new(metav1.Now()) }, true},
		"without a counter": {func(c *FooConfig) { c.Generation = 0 }, true},
	} {
		before := &FooConfig{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		now := &FooConfig{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
		tc.change(now)
		if got := configChanged().Update(ctrlevent.UpdateEvent{ObjectOld: before, ObjectNew: now}); got != tc.want {
			t.Errorf("%s: want %t, got %t", name, tc.want, got)
		}
	}
}

// wantedWatcher is a domain that uses Secrets and ConfigMaps named wanted.
type wantedWatcher struct {
	domain

	seen []*FooConfig
}

func (w *wantedWatcher) IsReferencedSecret(_ context.Context, s *corev1.Secret, c *FooConfig) bool {
	w.seen = append(w.seen, c)

	return s.Name == "wanted"
}

func (w *wantedWatcher) IsReferencedConfigMap(_ context.Context, m *corev1.ConfigMap, _ *FooConfig) bool {
	return m.Name == "wanted"
}

// secretMapper is a domain that maps a Secret to an object.
type secretMapper struct{ wantedWatcher }

func (*secretMapper) ObjectsForSecret(_ context.Context, s *corev1.Secret, _ *FooConfig) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: s.Name}}}
}

// worldLister lists only the objects of one world.
type worldLister struct {
	client.Client

	ns string
}

func (o worldLister) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	return o.Client.List(ctx, l, append(opts, client.InNamespace(o.ns))...)
}

// TestReferences checks which objects a Secret or ConfigMap requeues.
func TestReferences(t *testing.T) {
	w := newWorld(t)
	w.home = clusters.NewTestClusterFromClient("home", worldLister{api, w.ns})
	d := &wantedWatcher{}
	w.config = nil
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(d) }
	w.restart()
	secret := func(name string) *corev1.Secret { return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	count := func(name string) int { return len(w.r.mapSecretToRequests()(t.Context(), secret(name))) }
	if count("wanted") != 0 {
		t.Error("there are no objects yet")
	}
	w.create("a")
	w.create("b")
	if count("wanted") != 2 || count("other") != 0 || w.r.mapSecretToRequests()(t.Context(), &Foo{}) != nil {
		t.Errorf("want both for the one that is wanted, got %d and %d", count("wanted"), count("other"))
	}
	if slices.ContainsFunc(d.seen, func(c *FooConfig) bool { return c != nil }) {
		t.Error("want no configuration, since there is none")
	}
	configMaps := w.r.mapConfigMapToRequests()
	if len(configMaps(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "wanted"},
	})) != 2 || configMaps(t.Context(), &corev1.ConfigMap{}) != nil {
		t.Error("want both for the ConfigMap that is wanted")
	}

	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&secretMapper{}) }
	w.restart()
	if count("a") != 1 {
		t.Error("want the one object that the Secret is for")
	}
	w.build = nil
	w.restart()
	if w.r.mapSecretToRequests() != nil || w.r.mapConfigMapToRequests() != nil {
		t.Error("a domain that does not care is asked")
	}

	w.r.onboarding = clusters.NewTestClusterFromClient("home", &flakyClient{Client: api, err: boom})
	if got := w.r.enqueueAll(t.Context()); got != nil {
		t.Errorf("want none, since they cannot be listed, got %v", got)
	}
}

// TestUpstreamEnqueueAllObjects verifies that all objects are requeued, and that an unregistered
// kind and a list error are logged with the messages of the earlier runtime.
func TestUpstreamEnqueueAllObjects(t *testing.T) {
	bare, err := client.New(plane, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.create("a")
	w.create("b")
	for _, tc := range []struct {
		name   string
		client client.Client
		want   int
		logged []string
	}{
		{"listed", worldLister{api, w.ns}, 2, nil},
		{"not registered", bare, 0, []string{"failed to retrieve gvk"}},
		{"not listed", &flakyClient{Client: api, err: boom}, 0, []string{"failed to list objects"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var logged []string
			w.home = clusters.NewTestClusterFromClient("home", tc.client)
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
				b.Logger(logging.NewLogrLogger(funcr.New(func(_, args string) { logged = append(logged, args) },
					funcr.Options{})))
			}
			w.restart()
			got := w.r.enqueueAll(t.Context())
			if len(got) != tc.want || len(logged) != len(tc.logged) {
				t.Errorf("want %d objects and %q, got %v and %q", tc.want, tc.logged, got, logged)
			}
			for i := range min(len(logged), len(tc.logged)) {
				if !strings.Contains(logged[i], `"msg"="`+tc.logged[i]+`"`) {
					t.Errorf("want %q told, got %s", tc.logged[i], logged[i])
				}
			}
		})
	}
}

// TestConfigReconciler checks the event for a configuration that exists, is being deleted, or does
// not exist.
func TestConfigReconciler(t *testing.T) {
	w := newWorld(t)
	config, _ := createNamedConfig(w, api)
	updates := make(chan ctrlevent.GenericEvent, 1)
	r := NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(
		newFooConfig).ProviderName(w.ns).PlatformCluster(w.home).UpdateChannel(updates).MustBuild()
	sent := func() client.Object {
		t.Helper()
		if _, err := r.Reconcile(t.Context(),
			reconcile.Request{NamespacedName: client.ObjectKey{Name: w.ns}}); err != nil {
			t.Fatal(err)
		}

		return (<-updates).Object
	}
	if o, ok := sent().(*FooConfig); !ok || o.Image != "v1" {
		t.Errorf("got %+v", o)
	}
	merge := func(body string) {
		t.Helper()
		w.Must(api.Patch(t.Context(), config, client.RawPatch("application/merge-patch+json", []byte(body))))
	}
	merge(`{"metadata":{"finalizers":["example.org/kept"]}}`)
	w.Delete(config)
	if o := sent(); o != nil {
		t.Errorf("want nothing, since it goes, got %v", o)
	}
	merge(`{"metadata":{"finalizers":null}}`)
	if o := sent(); o != nil {
		t.Errorf("want nothing, since it is gone, got %v", o)
	}
}

// defaultingDomain is a domain that is a Defaulter.
type defaultingDomain struct{ domain }

func (*defaultingDomain) Default(_ context.Context, f *Foo) error {
	if f.Spec.Size == "bad" {
		return boom
	}
	if f.Spec.Size == "" {
		f.Spec.Size = "m"
	}

	return nil
}

// TestDefaulter verifies that defaults are stored once, before access is requested.
func TestDefaulter(t *testing.T) {
	w := newWorld(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&defaultingDomain{}) }
	w.gate.pending = time.Second
	f := w.create("foo")
	w.steady(f)
	before := w.get(f)
	w.steady(f)
	if before.Spec.Size != "m" || w.get(f).ResourceVersion != before.ResourceVersion {
		t.Errorf("want it stored once, got %+v", before)
	}
	if _, err := w.pass(w.create("bad", func(f *Foo) { f.Spec.Size = "bad" })); !errors.Is(err, boom) {
		t.Errorf("want %v, got %v", boom, err)
	}
}

// TestConflictKeepsReady verifies that a conflict of the write of defaults leaves Ready as it is.
func TestConflictKeepsReady(t *testing.T) {
	w := newWorld(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&defaultingDomain{}) }
	f := w.create("foo")
	w.steady(f)
	merge := func(body string) {
		t.Helper()
		w.Must(api.Patch(t.Context(), f, client.RawPatch("application/merge-patch+json", []byte(body))))
	}
	merge(`{"spec":{"size":null}}`)
	old := w.get(f)
	merge(`{"spec":{"size":"xl"}}`)
	before := w.expect(f, "Ready", ReasonReconcileSuccess)
	w.r.cache = staleReader{w.home.Client(), old}
	result, err := w.pass(f)
	if err != nil || !result.Requeue { //nolint:staticcheck // that is what is returned
		t.Errorf("got %+v, %v", result, err)
	}
	if diff := cmp.Diff(before, w.get(f)); diff != "" {
		t.Errorf("the object has changed: -before +after:\n%s", diff)
	}
}

// TestStatus checks the functions that set the status.
func TestStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		say           func(API)
		ready, reason string
		message       string
		phase         string
	}{
		"Progressing": {func(o API) { StatusProgressing(o, "R", "m") }, "False", "R", "m", "Progressing"},
		"Ready":       {StatusReady, "True", "ReconcileSuccess", "Domain Service is ready", "Ready"},
		"Terminating": {StatusTerminating, "False", "Terminating", "Cleanup in progress", "Terminating"},
		"WithReason":  {func(o API) { StatusTerminatingWithReason(o, "R", "m") }, "False", "R", "m", "Terminating"},
	} {
		f := &Foo{
			ObjectMeta: metav1.ObjectMeta{Generation: 3},
			Status: FooStatus{Conditions: []metav1.Condition{{Type: "DeletionBlocked", Status: "True",
				Reason: "Theirs"}}},
		}
		tc.say(f)
		c := meta.FindStatusCondition(f.Status.Conditions, ServiceProviderConditionReady)
		if string(c.Status) != tc.ready || c.Reason != tc.reason || c.Message != tc.message ||
			c.ObservedGeneration != 3 ||
			f.Status.Phase != tc.phase || f.Status.ObservedGeneration != 3 || len(f.Status.Conditions) != 2 {
			t.Errorf("%s: got %+v", name, f.Status)
		}
	}
}
