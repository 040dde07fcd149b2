package managed_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A plainQueue is one without priorities. It notes who is put into it.
type plainQueue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	added []string
}

func (q *plainQueue) AddAfter(r reconcile.Request, after time.Duration) {
	q.added = append(q.added, r.Name+" after "+after.String())
}

// newWatchedWorld returns a world with an event source, and its queue.
func newWatchedWorld(t *testing.T, s managed.ExternalEventSource,
	o ...managed.ReconcilerOption) (*world, *plainQueue, func(healthy string) float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	w := newWorld(t, append([]managed.ReconcilerOption{
		managed.WithExternalEvents(s, time.Hour), managed.WithMetricsRegisterer(registry),
		managed.WithDeterministicExternalName(true),
	}, o...)...)
	w.cloud.Named = true
	q := &plainQueue{}
	w.Must(w.r.Notifications().Start(t.Context(), q))
	w.create(nil)

	return w, q, func(healthy string) float64 {
		return metric(t, registry, "moorage_managed_watched_connections healthy="+healthy)
	}
}

// TestHowManyConnectionsAreWatched verifies that the metrics count connections with and without a working source,
// and that a queue without priorities works.
func TestHowManyConnectionsAreWatched(t *testing.T) {
	h := &herald{refuse: errors.New("not yet")}
	w, q, watched := newWatchedWorld(t, h)
	expect := func(when string, healthy, unhealthy float64) {
		t.Helper()
		if watched("true") != healthy || watched("false") != unhealthy {
			t.Errorf("%s: %v connections are watched and %v are not, want %v and %v", when, watched("true"),
				watched("false"), healthy, unhealthy)
		}
	}
	w.pass()
	refused := watched("false")
	expect("refused", 0, refused)
	h.refuse = nil
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	if result := w.pass(); result.RequeueAfter != time.Hour {
		t.Errorf("while changes are told the next poll is after %s", result.RequeueAfter)
	}
	expect("subscribed", 1, 0)
	h.to.Changed(key.Name, "nobody's")
	h.to.Interrupted()
	expect("interrupted", 0, 1)
	if result := w.pass(); result.RequeueAfter != time.Minute {
		t.Errorf("while changes are not told the next poll is after %s", result.RequeueAfter)
	}
	h.to.Resumed()
	expect("resumed", 1, 0)
	w.delete()
	w.pass()
	w.pass() // which finds it gone
	expect("gone", 0, 0)
	if _, ended := h.counts(); ended != 1 || w.r.Remembered() != 0 {
		t.Errorf("ended %d times, %d things are remembered, and nothing is left", ended, w.r.Remembered())
	}
	want := []string{"data after 200ms", "data after 30s", "data after 30s"}
	if len(q.added) != len(want) || q.added[0] != want[0] || q.added[1] != want[1] || q.added[2] != want[2] {
		t.Errorf("woken: %q, want %q", q.added, want)
	}
}

// A source may have nothing to end.
type endless struct{ begun int }

func (e *endless) Subscribe(context.Context, resource.Managed, managed.ExternalNotifications) (func(), error) {
	e.begun++

	return nil, nil
}

// TestASubscriptionThatNothingEnds verifies that a subscription without a stop function works, and its end does no
// harm.
func TestASubscriptionThatNothingEnds(t *testing.T) {
	s := &endless{}
	w, _, watched := newWatchedWorld(t, s)
	w.pass()
	w.pass()
	if watched("true") != 1 || s.begun != 1 {
		t.Errorf("%v connections are watched, after %d subscriptions", watched("true"), s.begun)
	}
	w.delete()
	w.pass()
	w.pass()
	if watched("true") != 0 || !w.gone() {
		t.Errorf("%v connections are watched for an object that is gone", watched("true"))
	}
}

// TestADeletedObjectIsReportedAndForgotten verifies that an object that is gone without the end of its deletion is
// reported once with its leftover, and then forgotten, also if another object has its name.
func TestADeletedObjectIsReportedAndForgotten(t *testing.T) {
	for name, another := range map[string]bool{"nobody": false, "another": true} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			w := newWorld(t, managed.WithMetricsRegisterer(registry))
			exists := func() float64 { return metric(t, registry, "moorage_managed_resource_exists") }
			w.create(nil)
			w.pass()
			w.taken()
			if exists() != 1 || w.r.Remembered() != 1 {
				t.Fatalf("%v exist, %d are remembered", exists(), w.r.Remembered())
			}
			w.change(func(v *volume.Volume) { v.Finalizers = nil })
			w.delete()
			calls, left := "", 0
			if another {
				w.create(func(v *volume.Volume) { v.UID = "uid-2" })
				calls, left = "Connect Observe Create Observe", 1
			}
			w.pass()
			w.pass()
			_, got, events := w.taken()
			if want := "Warning/ExternalResourceLeft"; !another && (events != want || got != calls) {
				t.Errorf("events %q, calls %q, want %q", events, got, want)
			}
			if want := "Warning/ExternalResourceLeft, Normal/CreatedExternalResource"; another && events != want {
				t.Errorf("events %q, want %q", events, want)
			}
			if exists() != float64(left) || w.r.Remembered() != left {
				t.Errorf("%v exist, %d are remembered, want %d", exists(), w.r.Remembered(), left)
			}
		})
	}
}
