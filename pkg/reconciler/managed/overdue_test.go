package managed_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestACallThatDoesNotReturnIsTold: a client does not mind that its context has ended. Its
// object says so, once and not before it is time; the call is counted; and when it comes back
// after all, the next pass goes on as if nothing had been.
func TestACallThatDoesNotReturnIsTold(t *testing.T) {
	for _, deaf := range []string{"Connect", "Observe", "Create", "Update", "Delete"} {
		t.Run(deaf, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			w := newWorld(t, managed.WithTimeout(10*time.Second), managed.WithMetricsRegisterer(registry), managed.WithCreationGracePeriod(0), managed.WithKstatusConditions())
			w.create(nil)
			if deaf != "Create" {
				w.pass()
			}
			switch deaf {
			case "Update":
				w.change(func(v *volume.Volume) { v.Spec.SizeGiB = 2 })
			case "Delete":
				w.delete()
			}
			called, back := make(chan struct{}), make(chan struct{})
			w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
				if call == deaf {
					close(called)
					<-back
				}

				return nil
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = w.r.Reconcile(w.Context(), request())
			}()
			<-called
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
			if requests != status || overdue() != 1 || !strings.Contains(c.Message, strings.ToLower(deaf)) {
				t.Errorf("requests %q, %v are counted, told %q", requests, overdue(), c.Message)
			}
			w.cloud.Before = nil
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
		})
	}
}

// ObservesForAnHour begins a pass whose Observe has not returned after an hour, and does not before
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

// TestOverdueCallsAreLookedForWhileTheControllerRuns: every ten seconds, and not after its end.
func TestOverdueCallsAreLookedForWhileTheControllerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(nil)
		back := w.observesForAnHour()
		w.failLive = 1 // the first look cannot tell
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

// TestAnOverdueCallIsNotToldToAnother: the object is gone, or another has its name by now.
func TestAnOverdueCallIsNotToldToAnother(t *testing.T) {
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
