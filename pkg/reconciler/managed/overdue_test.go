package managed_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A held source is an event source whose Subscribe calls a function.
type heldSource func()

func (s heldSource) Subscribe(context.Context, resource.Managed, managed.ExternalNotifications) (func(), error) {
	s()

	return nil, nil
}

// functions are the functions of options, by their reported names, each of which calls f.
func functions(f func()) map[string]managed.ReconcilerOption {
	return map[string]managed.ReconcilerOption{
		"fence":          managed.WithFence(func(context.Context) error { f(); return nil }),
		"lease deadline": managed.WithLeaseDeadline(func() time.Time { f(); return time.Time{} }),
		"poll interval hook": managed.WithPollIntervalHook(func(_ resource.Managed,
			d time.Duration) time.Duration {
			f()
			return d
		}),
		"subscribe": managed.WithExternalEvents(heldSource(f), time.Hour),
		"add finalizer": managed.WithFinalizer(resource.FinalizerFns{AddFinalizerFn: func(context.Context,
			resource.Object) error {
			f()
			return nil
		}}),
	}
}

// listens lets subscriptions be made.
func (w *world) listens() {
	w.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	w.Cleanup(queue.ShutDown)
	if err := w.r.Notifications().Start(w.Context(), queue); err != nil {
		w.Fatal(err)
	}
}

// TestAnOverdueCallIsReported verifies that a call that ignores its context, or of an option that never returns, is
// reported once on its object, after its timeout, and counted; the next pass after its return is normal.
func TestAnOverdueCallIsReported(t *testing.T) {
	deaf := append([]string{"Connect", "Observe", "Create", "Update", "Delete"},
		slices.Sorted(maps.Keys(functions(nil)))...)
	for _, deaf := range deaf {
		t.Run(deaf, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { doesNotReturn(t, deaf) }) })
	}
}

func doesNotReturn(t *testing.T, deaf string) {
	t.Helper()
	registry, back := prometheus.NewRegistry(), make(chan struct{})
	var holds atomic.Bool
	wait := func() {
		if holds.Load() {
			<-back
		}
	}
	w := newWorld(t, managed.WithTimeout(10*time.Second), managed.WithMetricsRegisterer(registry),
		managed.WithCreationGracePeriod(0), managed.WithKstatusConditions())
	if function, ok := functions(wait)[deaf]; ok {
		w.o = append(w.o, function)
		w.restart()
	}
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == deaf {
			wait()
		}

		return nil
	}
	w.listens()
	w.create(nil)
	switch deaf {
	case "Update":
		w.pass()
		w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
	case "Delete":
		w.pass()
		w.delete()
	case "Connect", "Observe":
		w.pass()
	}
	holds.Store(true)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = w.r.Reconcile(w.Context(), request())
	}()
	synctest.Wait()
	w.taken()
	overdue := func() float64 { return metric(t, registry, "moorage_managed_overdue_calls_total") }
	w.clock.SetTime(w.clock.Now().Add(39 * time.Second))
	w.r.TellOverdue(w.Context())
	if requests, _, _ := w.taken(); requests != "" || overdue() != 0 {
		t.Errorf("told too early: %s", requests)
	}
	w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
	for range 3 {
		w.r.TellOverdue(w.Context())
	}
	requests, _, _ := w.taken()
	c := w.condition("Synced", "False/CallOverdue")
	w.condition("Stalled", "True/CallOverdue")
	if requests != status || overdue() != 1 || !strings.Contains(c.Message, `"`+strings.ToLower(deaf)+`"`) {
		t.Errorf("requests %q, %v are counted, told %q", requests, overdue(), c.Message)
	}
	holds.Store(false)
	close(back)
	<-ended
	if n := w.r.Waiting(); n != 0 {
		t.Errorf("%d calls are waited for", n)
	}
	w.pass()
	if deaf != "Delete" {
		w.condition("Synced", "True/ReconcileSuccess")
	} else if w.pass(); !w.gone() {
		t.Error("the object is not gone")
	}
	if got := slices.Compact(w.cloud.Calls()); w.cloud.Count(deaf) > 3 {
		t.Errorf("calls %v", got)
	}
}

// observesForAnHour begins a pass whose Observe has not returned after an hour, and does not before
// back is closed.
func (w *world) observesForAnHour() (back chan struct{}) {
	back = make(chan struct{})
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Observe" {
			<-back
		}

		return nil
	}
	go func() { _, _ = w.r.Reconcile(w.Context(), request()) }()
	synctest.Wait()
	w.clock.SetTime(w.clock.Now().Add(time.Hour))

	return back
}

// TestOverdueCallsAreLookedForWhileTheControllerRuns verifies that overdue calls are checked every ten seconds
// while the controller runs.
func TestOverdueCallsAreLookedForWhileTheControllerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(nil)
		back := w.observesForAnHour()
		w.failLive = 1 // the first read fails
		ctx, stop := context.WithCancel(w.Context())
		if err := w.r.Overdue().Start(ctx, nil); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Unknown/", "False/CallOverdue"} {
			<-time.After(10*time.Second + time.Millisecond)
			synctest.Wait()
			w.condition("Synced", want)
		}
		stop()
		close(back)
	})
}

// TestAnOverdueCallIsNotReportedOnAnotherObject verifies that an overdue call is not reported if the object is
// gone, or another one has its name.
func TestAnOverdueCallIsNotReportedOnAnotherObject(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		w := newWorld(t)
		w.create(nil)
		called, back, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call != "Observe" {
				return nil
			}
			close(called)
			<-back

			return errLost
		}
		go func() {
			defer close(ended)
			_, _ = w.r.Reconcile(w.Context(), request())
		}()
		<-called
		if w.delete(); replaced {
			w.create(func(v *volume.Volume) { v.UID = "uid-2" })
		}
		w.clock.SetTime(w.clock.Now().Add(time.Hour))
		w.taken()
		w.r.TellOverdue(w.Context())
		if requests, _, _ := w.taken(); requests != "" {
			t.Errorf("replaced %t: %s", replaced, requests)
		}
		close(back)
		<-ended
	}
}
