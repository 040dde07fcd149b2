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

// The defects of what services were built with before, each with the test that keeps it
// out, by their numbers. W10, W20 and most of W11 are with the access provider.

// TestW1RestartChangesNothing: an object that was Ready stays so while a new process does
// not know its configuration yet.
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

// Shaky is a client that cannot always read.
type shaky struct {
	client.Client

	err error
}

func (s *shaky) List(ctx context.Context, l client.ObjectList, o ...client.ListOption) error {
	if s.err != nil {
		return s.err
	}

	return s.Client.List(ctx, l, o...)
}

func (s *shaky) Get(ctx context.Context, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*FooConfig); ok && s.err != nil {
		return s.err
	}

	return s.Client.Get(ctx, k, o, opts...)
}

// named creates a configuration of the world's name, and returns a source of it.
func named(w *world, c client.Client) (*FooConfig, ConfigSource[*Foo, *FooConfig]) {
	w.Helper()
	config := &FooConfig{ObjectMeta: metav1.ObjectMeta{Name: w.ns}, Poll: metav1.Duration{Duration: time.Minute}, Image: "v1"}
	w.Create(config)

	return config, NamedConfig[*Foo](clusters.NewTestClusterFromClient("platform", c), w.ns, newFooConfig)
}

// TestW2ErrorsChangeNothing: a configuration that cannot be read for a while is the one
// that was read last; if none ever was, nothing is said of the objects.
func TestW2ErrorsChangeNothing(t *testing.T) {
	w := newWorld(t)
	platform := &shaky{Client: api}
	_, source := named(w, platform)
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
		PlatformCluster(clusters.NewTestClusterFromClient("platform", platform)).UpdateChannel(make(chan ctrlevent.GenericEvent)).MustBuild()
	if _, err := r.Reconcile(t.Context(), reconcile.Request{}); !errors.Is(err, boom) {
		t.Errorf("over a channel: want %v and nothing sent, got %v", boom, err)
	}
}

// TestW3NobodyReceives: what nobody receives does not block for ever.
func TestW3NobodyReceives(t *testing.T) {
	w := newWorld(t)
	r := NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(newFooConfig).ProviderName("foo").
		PlatformCluster(w.home).UpdateChannel(make(chan ctrlevent.GenericEvent)).MustBuild()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: client.ObjectKey{Name: w.ns}}); err == nil {
		t.Error("want an error")
	}
}

// TestW4ConfigGoneFirst: a deletion goes on with the last configuration there was, also
// one that is being deleted, and ends as the policy says if there was none.
func TestW4ConfigGoneFirst(t *testing.T) {
	t.Run("Last", func(t *testing.T) {
		w := newWorld(t)
		config, source := named(w, api)
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(source) }
		f := w.create("foo")
		w.steady(f)
		w.Delete(config)
		w.steady(f)
		w.shows(f, "Progressing", ReasonReconcileError)
		w.Delete(f)
		w.steady(f)
		if !w.Gone(f) || w.domain.config.Image != "v1" {
			t.Errorf("want it deleted with the last configuration, got %+v", w.domain.config)
		}
	})
	t.Run("Terminating", func(t *testing.T) {
		w := newWorld(t)
		config, source := named(w, api)
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource(source) }
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":["example.org/kept"]}}`))
		w.Must(api.Patch(t.Context(), config, patch))
		t.Cleanup(func() {
			_ = api.Patch(context.Background(), config, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
		})
		f := w.create("foo", func(f *Foo) { f.Finalizers = []string{finalizer} })
		w.Delete(config)
		w.steady(f)
		w.shows(f, "Progressing", ReasonReconcileError)
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
			w.shows(f, "Terminating", ReasonConfigMissing)
			w.steady(f)
			if w.condition(f, ConditionDeletionBlocked) != "True/ConfigMissing" || !slices.Equal(w.teller.events, []string{"Warning DeletionBlocked"}) {
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

// TestW5ClusterGoneFirst: a deletion whose cluster is gone ends as the policy says.
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

// TestW6StatusSurvives: writes of the main resource, ours and the domain's, take nothing
// from the status, and what others have written meanwhile stays.
func TestW6StatusSurvives(t *testing.T) {
	t.Run("FirstPass", func(t *testing.T) {
		w := newWorld(t)
		f := w.create("foo")
		w.domain.do = func(_ context.Context, f *Foo) error { f.Status.Note = "kept"; return nil }
		w.steady(f)
		if got := w.shows(f, "Ready", ReasonReconcileSuccess); got.Status.Note != "kept" || len(got.Finalizers) != 1 {
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
		if got := w.shows(f, "Ready", ReasonReconcileSuccess); got.Labels["instance"] != "7" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("OthersWroteMeanwhile", func(t *testing.T) {
		w := newWorld(t)
		f := w.create("foo")
		w.domain.do = func(ctx context.Context, f *Foo) error {
			theirs := w.get(f)
			theirs.Status.Other = "theirs"
			meta.SetStatusCondition(&theirs.Status.Conditions, metav1.Condition{Type: "Backup", Status: "True", Reason: "Done"})
			f.Status.Note = "ours"

			return api.Status().Update(ctx, theirs)
		}
		w.steady(f)
		got := w.shows(f, "Ready", ReasonReconcileSuccess)
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
		if got := w.shows(f, "Terminating", ReasonTerminating); got.Status.Note != "removed" || !slices.Equal(got.Finalizers, []string{"example.org/theirs"}) {
			t.Errorf("want what was said before our finalizer went, got %+v", got)
		}
		w.Must(api.Patch(t.Context(), f, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	})
	t.Run("ConflictIsSilent", func(t *testing.T) {
		w := newWorld(t)
		f := w.create("foo")
		// A cache that lags: the finalizer goes onto an old version.
		old := w.get(f)
		w.Must(api.Patch(t.Context(), f, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"size":"xl"}}`))))
		w.restart()
		w.r.cached = lagging{w.home.Client(), old}
		result, err := w.pass(f)
		if err != nil || !result.Requeue || len(w.domain.called()) != 0 { //nolint:staticcheck // that is what is returned
			t.Errorf("got %+v, %v", result, err)
		}
	})
}

// Lagging is a cache that shows an old object.
type lagging struct {
	client.Reader

	old *Foo
}

func (l lagging) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	*o.(*Foo) = *l.old.DeepCopyObject().(*Foo)

	return nil
}

// TestOwnWritesAreKnown: a pass does not begin on a version before our own last write.
func TestOwnWritesAreKnown(t *testing.T) {
	w := newWorld(t)
	f := w.create("foo")
	old := w.get(f)
	w.restart()
	w.r.cached = lagging{w.home.Client(), old}
	w.steady(f)
	before := w.get(f).ResourceVersion
	w.steady(f) // the cache still shows no finalizer and no status
	if after := w.get(f).ResourceVersion; after != before || len(w.domain.called()) != 2 {
		t.Errorf("written again: %s, %s", before, after)
	}
}

// TestW7WaitingShows: an object that waits for access says so.
func TestW7WaitingShows(t *testing.T) {
	w := newWorld(t)
	w.gate.pending = time.Second
	f := w.create("foo")
	w.steady(f)
	w.shows(f, "Progressing", ReasonWaitingForClusterAccess)
	if got := w.condition(f, ConditionClusterAccessReady); got != "False/WaitingForClusterAccess" {
		t.Errorf("got %s", got)
	}
	w.gate.pending = 0
	w.steady(f)
	if got := w.condition(f, ConditionClusterAccessReady); got != "True/Granted" {
		t.Errorf("got %s", got)
	}
}

// TestW8DeletionsAreTerminating: also one that cannot tell whether there is access.
func TestW8DeletionsAreTerminating(t *testing.T) {
	w := newWorld(t)
	w.gate.lookErr = boom
	f := w.create("foo", func(f *Foo) { f.Finalizers = []string{finalizer} })
	w.Delete(f)
	if _, err := w.pass(f); !errors.Is(err, boom) {
		t.Errorf("want %v, got %v", boom, err)
	}
	w.shows(f, "Terminating", ReasonReconcileError)
}

// TestW9DeniedShows: it is told once, not tried for ever, and goes on when it is granted.
func TestW9DeniedShows(t *testing.T) {
	w := newWorld(t)
	w.gate.err = ErrAccessDenied
	f := w.create("foo")
	w.steady(f)
	if result := w.steady(f); result.RequeueAfter != slow || !slices.Equal(w.teller.events, []string{"Warning ClusterAccessDenied"}) {
		t.Errorf("got %+v and %v", result, w.teller.events)
	}
	w.shows(f, "Progressing", ReasonClusterAccessDenied)
	w.gate.err = nil
	w.steady(f)
	w.shows(f, "Ready", ReasonReconcileSuccess)
}

// TestW12FanOutComesLast: what is looked at because of something else does not hold up
// what users do.
func TestW12FanOutComesLast(t *testing.T) {
	q := priorityqueue.New[reconcile.Request]("test")
	defer q.ShutDown()
	user, fanned := reconcile.Request{NamespacedName: client.ObjectKey{Name: "user"}}, reconcile.Request{NamespacedName: client.ObjectKey{Name: "fanned"}}
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

// TestW13OwnWritesWakeNobody: changes of the status and of our finalizer are no reason to
// look again; those of users and others are.
func TestW13OwnWritesWakeNobody(t *testing.T) {
	w := newWorld(t)
	w.restart()
	p := w.r.concerns()
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

// TestW14ResultsAreKept: what the domain asks for reaches the queue, and nothing that the
// queue heeds more: neither the poll interval, a minute, nor when credentials expire.
func TestW14ResultsAreKept(t *testing.T) {
	w := newWorld(t)
	withOther(w)
	w.domain.result = ctrl.Result{Requeue: true, Priority: new(7)} //nolint:staticcheck // domains that were written for it still ask for Requeue
	f := w.create("foo")
	result := w.steady(f)
	if !result.Requeue || result.RequeueAfter != 0 || result.Priority == nil || *result.Priority != 7 { //nolint:staticcheck // the same
		t.Errorf("got %+v", result)
	}
	w.domain.result.RequeueAfter = time.Hour
	if result := w.steady(f); result.RequeueAfter <= 0 || result.RequeueAfter > 20*time.Second {
		t.Errorf("who says when is called before the credentials expire, got %s", result.RequeueAfter)
	}
	w.domain.result.RequeueAfter = 0
	w.Delete(f)
	if result := w.steady(f); !result.Requeue || result.RequeueAfter != 0 || w.Gone(f) { //nolint:staticcheck // the same
		t.Errorf("a Delete that wants to be called again is not done: %+v", result)
	}
	w.domain.result, w.domain.err = ctrl.Result{}, reconcile.TerminalError(boom)
	if _, err := w.pass(f); !errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("a terminal error is one no more: %v", err)
	}
}

// TestW15Paused: it shows, it is told once, it can be steered by another key, and an
// option lets deletions go on.
func TestW15Paused(t *testing.T) {
	w := newWorld(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.OperationAnnotation("example.org/do") }
	f := w.create("foo", func(f *Foo) { f.Annotations = map[string]string{"example.org/do": OperationIgnore} })
	w.steady(f)
	w.steady(f)
	if w.condition(f, ConditionSynced) != "False/ReconcilePaused" || !slices.Equal(w.teller.events, []string{"Normal ReconciliationPaused"}) {
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

// TestW16Builders: errors and panics for what is missing, also behind an interface; what
// is called after Build changes nothing.
func TestW16Builders(t *testing.T) {
	w := newWorld(t)
	for name, spoil := range map[string]func(b *APIReconcilerBuilder[*Foo, *FooConfig]){
		"cluster access reconciler": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ClusterAccessReconciler((*gate)(nil)) },
		"empty object provider":     func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.EmptyObjectProvider(nil) },
		"onboarding cluster":        func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.OnboardingCluster(nil) },
		"platform cluster":          func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.PlatformCluster(clusters.New("nowhere")) },
		"reconciler":                func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler((*domain)(nil)) },
		"further clusters":          func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Clusters("a") },
		"policy":                    func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.OnClusterGone(DeletionDelete) },
		"policy/without a config":   func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.WithoutConfig("Maybe") },
		"annotation":                func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.OperationAnnotation("") },
		"cluster access reconciler/behind an adapter": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.AdvancedClusterAccessReconciler(SimpleProviderAdapter{Provider: (*gate)(nil)})
		},
		"cluster access reconciler/behind a pointer to an adapter": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.AdvancedClusterAccessReconciler(&SimpleProviderAdapter{})
		},
		"further clusters/of a pointer to an adapter": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.AdvancedClusterAccessReconciler(&SimpleProviderAdapter{Provider: w.gate}).Clusters("a")
		},
		"cluster access reconciler/advanced": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.AdvancedClusterAccessReconciler((*regional)(nil)) },
		"config source":                      func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.ConfigSource((*selected[*Foo, *FooConfig])(nil)) },
		"data generator":                     func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.AdditionalDataGenerators(nil) },
		"recorder":                           func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Recorder(nil) },
		"logger":                             func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Logger(nil) },
		"clock":                              func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Clock(nil, nil) },
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
	if second := b.WorkloadCluster(true).MustBuild(); first == second || first.workload {
		t.Error("a reconciler was changed after it was built")
	}

	updates := make(chan ctrlevent.GenericEvent)
	whole := func() *ConfigReconcilerBuilder[*FooConfig] {
		return NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(newFooConfig).PlatformCluster(w.home).ProviderName("foo").UpdateChannel(updates)
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

// TestNilConfig: a source that has none, and does not say so, is one without any: in a
// pass, and when somebody has to be woken, where nobody recovers.
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
			w.r.onboarding = clusters.NewTestClusterFromClient("home", only{api, w.ns})
			f := w.create(name)
			w.steady(f)
			w.shows(f, StatusPhaseProgressing, ReasonReconcileError)
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

// TestTwoProvidersOfAName: the second one in a process is an error, as is one without a
// name.
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

// mustPanic expects a panic with an error that says what is missing.
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

// TestW17PassesAreCounted by controller and outcome.
func TestW17PassesAreCounted(t *testing.T) {
	w := newWorld(t)
	w.restart()
	var outcomes []string
	w.r.count = func(o string) { outcomes = append(outcomes, o) }
	f := w.create("foo")
	w.steady(f)
	w.Delete(f)
	w.steady(f)
	if diff := cmp.Diff([]string{"Worked", "Released"}, outcomes); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	counter("twice")("Worked")
	counter("twice")("Worked")
}

// TestW19ConfigPerObject: objects may have configurations of their own.
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
	w.shows(none, "Progressing", ReasonReconcileError)

	// A configuration that changes wakes its users, those that would use it now, and nobody else.
	w.r.onboarding = clusters.NewTestClusterFromClient("home", only{api, w.ns})
	woken := func(size string) (names []string) {
		for _, r := range w.r.enqueueUsers(t.Context(), &FooConfig{ObjectMeta: metav1.ObjectMeta{Name: w.ns + "-" + size}}) {
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

// TestConfigsThatMatter: neither the status of a configuration nor one of another name
// wakes anybody.
func TestConfigsThatMatter(t *testing.T) {
	w := newWorld(t)
	source, ok := NamedConfig[*Foo](w.home, "mine", newFooConfig).(*selected[*Foo, *FooConfig])
	named := func(name, ns string) *FooConfig {
		return &FooConfig{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}}
	}
	if !ok || !source.concerns(named("mine", "")) || source.concerns(named("other", "")) || source.concerns(named("mine", "ns")) {
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
		if got := matters().Update(ctrlevent.UpdateEvent{ObjectOld: before, ObjectNew: now}); got != tc.want {
			t.Errorf("%s: want %t, got %t", name, tc.want, got)
		}
	}
}

// A watcher is a domain that cares for Secrets and ConfigMaps called wanted.
type watcher struct {
	domain

	seen []*FooConfig
}

func (w *watcher) IsReferencedSecret(_ context.Context, s *corev1.Secret, c *FooConfig) bool {
	w.seen = append(w.seen, c)

	return s.Name == "wanted"
}

func (w *watcher) IsReferencedConfigMap(_ context.Context, m *corev1.ConfigMap, _ *FooConfig) bool {
	return m.Name == "wanted"
}

// A mapper knows for which object a Secret is.
type mapper struct{ watcher }

func (*mapper) ObjectsForSecret(_ context.Context, s *corev1.Secret, _ *FooConfig) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: s.Name}}}
}

// only lists the objects of one world.
type only struct {
	client.Client

	ns string
}

func (o only) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	return o.Client.List(ctx, l, append(opts, client.InNamespace(o.ns))...)
}

// TestReferences: what a Secret or ConfigMap of the platform leads to.
func TestReferences(t *testing.T) {
	w := newWorld(t)
	w.home = clusters.NewTestClusterFromClient("home", only{api, w.ns})
	d := &watcher{}
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
	if len(configMaps(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "wanted"}})) != 2 || configMaps(t.Context(), &corev1.ConfigMap{}) != nil {
		t.Error("want both for the ConfigMap that is wanted")
	}

	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&mapper{}) }
	w.restart()
	if count("a") != 1 {
		t.Error("want the one object that the Secret is for")
	}
	w.build = nil
	w.restart()
	if w.r.mapSecretToRequests() != nil || w.r.mapConfigMapToRequests() != nil {
		t.Error("a domain that does not care is asked")
	}

	w.r.onboarding = clusters.NewTestClusterFromClient("home", &shaky{Client: api, err: boom})
	if got := w.r.enqueueAll(t.Context()); got != nil {
		t.Errorf("want none, since they cannot be listed, got %v", got)
	}
}

// TestUpstreamEnqueueAllObjects: all of them; and none, which is told in the words of those
// days, if the kind is not registered or cannot be listed.
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
		{"listed", only{api, w.ns}, 2, nil},
		{"not registered", bare, 0, []string{"failed to retrieve gvk"}},
		{"not listed", &shaky{Client: api, err: boom}, 0, []string{"failed to list objects"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var logged []string
			w.home = clusters.NewTestClusterFromClient("home", tc.client)
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
				b.Logger(logging.NewLogrLogger(funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})))
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

// TestConfigReconciler: what is sent for a configuration that is there, goes, or is gone.
func TestConfigReconciler(t *testing.T) {
	w := newWorld(t)
	config, _ := named(w, api)
	updates := make(chan ctrlevent.GenericEvent, 1)
	r := NewConfigReconcilerBuilder[*FooConfig]().EmptyObjectProvider(newFooConfig).ProviderName(w.ns).PlatformCluster(w.home).UpdateChannel(updates).MustBuild()
	sent := func() client.Object {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: w.ns}}); err != nil {
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

// A filler fills up what a user has left out.
type filler struct{ domain }

func (*filler) Default(_ context.Context, f *Foo) error {
	if f.Spec.Size == "bad" {
		return boom
	}
	if f.Spec.Size == "" {
		f.Spec.Size = "m"
	}

	return nil
}

// TestDefaulter: what it fills in is stored, once, before access is asked for.
func TestDefaulter(t *testing.T) {
	w := newWorld(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&filler{}) }
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

// TestConflictsSayNothing: that somebody was faster than what was to be filled in takes
// Ready from nobody.
func TestConflictsSayNothing(t *testing.T) {
	w := newWorld(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&filler{}) }
	f := w.create("foo")
	w.steady(f)
	merge := func(body string) {
		t.Helper()
		w.Must(api.Patch(t.Context(), f, client.RawPatch("application/merge-patch+json", []byte(body))))
	}
	merge(`{"spec":{"size":null}}`)
	old := w.get(f)
	merge(`{"spec":{"size":"xl"}}`)
	before := w.shows(f, "Ready", ReasonReconcileSuccess)
	w.r.cached = lagging{w.home.Client(), old}
	result, err := w.pass(f)
	if err != nil || !result.Requeue { //nolint:staticcheck // that is what is returned
		t.Errorf("got %+v, %v", result, err)
	}
	if diff := cmp.Diff(before, w.get(f)); diff != "" {
		t.Errorf("the object has changed: -before +after:\n%s", diff)
	}
}

// TestStatus: the functions that a domain says how it is doing with.
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
		f := &Foo{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Status: FooStatus{Conditions: []metav1.Condition{{Type: "DeletionBlocked", Status: "True", Reason: "Theirs"}}}}
		tc.say(f)
		c := meta.FindStatusCondition(f.Status.Conditions, ServiceProviderConditionReady)
		if string(c.Status) != tc.ready || c.Reason != tc.reason || c.Message != tc.message || c.ObservedGeneration != 3 ||
			f.Status.Phase != tc.phase || f.Status.ObservedGeneration != 3 || len(f.Status.Conditions) != 2 {
			t.Errorf("%s: got %+v", name, f.Status)
		}
	}
}
