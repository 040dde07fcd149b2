package managed_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A wiredManager runs what Setup adds to it, with informers that a test feeds.
type wiredManager struct {
	*fake.Manager

	informers *informertest.FakeInformers
	added     []manager.Runnable
	checks    map[string]healthz.Checker
}

func (m *wiredManager) GetCache() cache.Cache { return m.informers }

func (m *wiredManager) GetControllerOptions() ctrlconfig.Controller {
	return ctrlconfig.Controller{SkipNameValidation: new(true)} // each case makes a controller of the same name
}

func (m *wiredManager) Add(r manager.Runnable) error {
	m.added = append(m.added, r)

	return nil
}

func (m *wiredManager) AddHealthzCheck(name string, check healthz.Checker) error {
	m.checks[name] = check

	return nil
}

// A wired controller is what Setup makes for volumes, while it runs.
type wired struct {
	*world

	m     *wiredManager
	ended chan error
	stop  func()
}

// newWired sets up the controller and starts it.
func newWired(t *testing.T, o controller.Options, ro ...managed.ReconcilerOption) *wired {
	t.Helper()
	w := newWorld(t)
	m := &wiredManager{
		Manager:   &fake.Manager{Client: w.API, Scheme: w.API.Scheme()},
		informers: &informertest.FakeInformers{Scheme: w.API.Scheme()}, checks: map[string]healthz.Checker{},
	}
	f := &wired{world: w, m: m, ended: make(chan error, 1)}
	for _, o := range []client.Object{&volume.Volume{}, &corev1.ConfigMap{}} {
		f.informer(o) // before several watches begin at a time
	}
	w.cloud.Named = true
	w.Must(managed.Setup(m, volume.Kind, o, append([]managed.ReconcilerOption{
		managed.WithExternalConnecter(w.cloud), managed.WithDeterministicExternalName(true), managed.WithRecorder(w),
		managed.WithClock(clock.RealClock{}),
		managed.WithRandom(func() float64 { return 0.5 }),
	}, ro...)...))
	if len(m.added) != 1 {
		t.Fatalf("%d controllers were added", len(m.added))
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.stop = func() {
		cancel()
		if err := <-f.ended; err != nil {
			t.Errorf("the controller ended with %v", err)
		}
		synctest.Wait() // for what the end of its context ends
	}
	go func() { f.ended <- m.added[0].Start(ctx) }()
	synctest.Wait()

	return f
}

func (f *wired) informer(o client.Object) *controllertest.FakeInformer {
	f.Helper()
	i, err := f.m.informers.FakeInformerFor(f.Context(), o)
	f.Must(err)

	return i
}

// after sends an event to the controller and returns the immediate calls.
func (f *wired) after(event func()) string {
	f.Helper()
	f.taken()
	event()
	<-time.After(time.Second)
	_, calls, _ := f.taken()

	return calls
}

// TestSetupWatchesAllSources verifies that the controller receives the events of its kind, of watched objects and
// of the event source, and no others.
func TestSetupWatchesAllSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &herald{}
		toVolume := handler.EnqueueRequestsFromMapFunc(func(context.Context,
			client.Object) []reconcile.Request {
			return []reconcile.Request{request()}
		})
		f := newWired(t, controller.Options{PollInterval: 10 * time.Minute},
			managed.WithWatch(&corev1.ConfigMap{}, toVolume), managed.WithExternalEvents(h, time.Hour))
		f.create(nil)
		if calls := f.after(func() { f.informer(&volume.Volume{}).Add(f.get()) }); calls != "Connect Observe Create Observe" {
			t.Errorf("a new object: calls %q", calls)
		}
		before, now := f.get(), f.get()
		now.Status.UsedBytes++
		now.ResourceVersion += "0"
		if calls := f.after(func() { f.informer(&volume.Volume{}).Update(before, now) }); calls != "" {
			t.Errorf("a status that was written: calls %q", calls)
		}
		now.Generation++
		if calls := f.after(func() { f.informer(&volume.Volume{}).Update(before, now) }); calls != look {
			t.Errorf("a spec that was changed: calls %q", calls)
		}
		if calls := f.after(func() { f.informer(&corev1.ConfigMap{}).Add(&corev1.ConfigMap{}) }); calls != look {
			t.Errorf("an event of what is watched besides: calls %q", calls)
		}
		if calls := f.after(func() { h.to.Changed(key.Name) }); calls != look {
			t.Errorf("a change that the external system tells: calls %q", calls)
		}
		if calls := f.after(func() { <-time.After(59 * time.Minute) }); calls != "" {
			t.Errorf("within the poll interval of who is told of changes: calls %q", calls)
		}
		if calls := f.after(func() { <-time.After(2 * time.Minute) }); calls != look {
			t.Errorf("after it: calls %q", calls)
		}
		f.stop()
		if begun, ended := h.counts(); begun != 1 || ended != 1 {
			t.Errorf("subscribed %d times, ended %d times, and the controller has ended", begun, ended)
		}
	})
}

// TestASetUpControllerLooksAfterItsCalls verifies that overdue calls of a controller are reported on their objects,
// and by the health endpoint once no worker is left.
func TestASetUpControllerLooksAfterItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWired(t, controller.Options{MaxConcurrentReconciles: 2})
		name := managed.ControllerName(volume.GroupVersion.WithKind("Volume").GroupKind().String())
		check := f.m.checks[name]
		if check == nil || len(f.m.checks) != 1 {
			t.Fatalf("checks %v, want one of %s", f.m.checks, name)
		}
		back := make(chan struct{})
		f.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Observe" {
				<-back
			}

			return nil
		}
		f.create(nil)
		f.informer(&volume.Volume{}).Add(f.get())
		<-time.After(2 * time.Minute)
		f.condition("Synced", "False/CallOverdue")
		<-time.After(time.Hour)
		if err := check(nil); err != nil {
			t.Errorf("one of two workers is free: %v", err)
		}
		f.create(func(v *volume.Volume) { v.Name, v.UID = "other", "uid-2" })
		f.informer(&volume.Volume{}).Add(&volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace,
			Name: "other"}})
		<-time.After(time.Hour)
		if err := check(nil); err == nil {
			t.Error("no worker is free, and the process is called alive")
		}
		close(back)
		<-time.After(time.Minute)
		if err := check(nil); err != nil {
			t.Errorf("the calls have returned: %v", err)
		}
		f.condition("Synced", "True/ReconcileSuccess")
		f.stop()
	})
}

// TestTheGlobalLimitHoldsWhateverItsType verifies that the global limit holds for any limiter type, and that there
// is none by default.
func TestTheGlobalLimitHoldsWhateverItsType(t *testing.T) {
	type bucket = workqueue.TypedBucketRateLimiter[any]
	cases := map[string]struct {
		limit workqueue.TypedRateLimiter[any]
		want  int // passes of ten objects within a second
	}{
		"none":      {nil, 10},
		"a bucket":  {&bucket{Limiter: rate.NewLimiter(1, 3)}, 4},
		"a wrapped": {struct{ *bucket }{&bucket{Limiter: rate.NewLimiter(1, 3)}}, 4},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newWired(t, controller.Options{GlobalRateLimiter: tc.limit})
				for i := range 10 {
					v := atKey()
					v.Name, v.UID = fmt.Sprintf("v%02d", i), types.UID(fmt.Sprintf("uid-%d", i))
					f.Create(v)
					f.informer(v).Add(v)
				}
				<-time.After(1500 * time.Millisecond)
				if got := f.cloud.Count("Connect"); got != tc.want {
					t.Errorf("%d passes in a second, want %d", got, tc.want)
				}
				f.stop()
			})
		})
	}
}
