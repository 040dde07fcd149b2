package managed_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/external/limit"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A lasting herald has subscriptions that nothing ends.
type lasting struct{ herald }

func (l *lasting) Subscribe(ctx context.Context, mg resource.Managed,
	to managed.ExternalNotifications) (func(), error) {
	_, err := l.herald.Subscribe(ctx, mg, to)

	return nil, err
}

// TestASubscriptionThatNothingEndsIsInterrupted verifies that a subscription without a stop function can be
// interrupted and resumed.
func TestASubscriptionThatNothingEndsIsInterrupted(t *testing.T) {
	l := &lasting{}
	w, q, watched := newWatchedWorld(t, l)
	w.pass()
	l.to.Interrupted()
	if result := w.pass(); watched("true") != 0 || watched("false") != 1 || result.RequeueAfter != time.Minute {
		t.Errorf("while it is interrupted %v connections are watched, and the next poll is after %s",
			watched("true"), result.RequeueAfter)
	}
	l.to.Resumed()
	if result := w.pass(); watched("true") != 1 || result.RequeueAfter != time.Hour {
		t.Errorf("when it tells again %v connections are watched, and the next poll is after %s", watched("true"),
			result.RequeueAfter)
	}
	if want := []string{"data after 30s", "data after 30s"}; !cmp.Equal(q.added, want) {
		t.Errorf("woken: %q, want %q", q.added, want)
	}
}

// TestAPollIntervalAnnotationWithNotifications verifies that the poll interval of an object is kept with
// notifications, and an invalid one ignored.
func TestAPollIntervalAnnotationWithNotifications(t *testing.T) {
	w, _, _ := newWatchedWorld(t, &herald{})
	for _, step := range []struct {
		asked string
		want  time.Duration
	}{{"5s", 5 * time.Second}, {"soon", time.Hour}, {"", time.Hour}, {"2h", 2 * time.Hour}} {
		w.change(func(v *volume.Volume) {
			meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyPollInterval: step.asked})
		})
		if got := w.pass().RequeueAfter; got != step.want {
			t.Errorf("asked for %q, the next poll is after %s, want %s", step.asked, got, step.want)
		}
	}
}

// A parting herald does something whenever a subscription is ended.
type parting struct {
	herald

	then func()
}

func (p *parting) Subscribe(ctx context.Context, mg resource.Managed,
	to managed.ExternalNotifications) (func(), error) {
	stop, err := p.herald.Subscribe(ctx, mg, to)

	return func() {
		stop()
		p.then()
	}, err
}

// TestSubscriptionsEndWithTheController verifies that all subscriptions end with the controller, that a late pass
// begins none, and that late notifications are ignored.
func TestSubscriptionsEndWithTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, registry := &parting{}, prometheus.NewRegistry()
		w, _, _ := newWatchedWorld(t, p, managed.WithMetricsRegisterer(registry))
		p.then = func() { _, _ = w.try() }
		q := &plainQueue{}
		ctx, end := context.WithCancel(t.Context())
		w.Must(w.r.Notifications().Start(ctx, q))
		w.pass()
		p.to.Changed(key.Name, "nobody's", "nobody's either")
		const counter = "moorage_managed_external_notifications_total result="
		expect := func(when string) {
			t.Helper()
			if woke, unknown := metric(t, registry, counter+"woke"), metric(t, registry, counter+"unknown"); woke != 1 ||
				unknown != 2 || len(q.added) != 1 {
				t.Errorf("%s: %v names were counted as known and %v as unknown, woken: %q", when, woke, unknown,
					q.added)
			}
		}
		expect("while the controller runs")
		end()
		synctest.Wait()
		p.to.Changed(key.Name, "nobody's")
		p.to.Interrupted()
		expect("after its end")
		_, _ = w.try()
		if begun, ended := p.counts(); begun != 1 || ended != 1 {
			t.Errorf("subscribed %d times, ended %d times", begun, ended)
		}
	})
}

// TestNotificationsWithoutASourceEnd verifies that the source of notifications of a reconciler without an event
// source can be stopped.
func TestNotificationsWithoutASourceEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, end := context.WithCancel(t.Context())
		w.Must(w.r.Notifications().Start(ctx, &plainQueue{}))
		w.create(nil)
		w.pass()
		end()
		synctest.Wait()
		w.pass()
		w.expect("patch, patch, patch status", "Connect Observe Create Observe "+look, "Normal/CreatedExternalResource")
	})
}

// A ranked queue notes with which priority and when objects are put into it.
type ranked struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	added []string
}

func (q *ranked) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	for _, item := range items {
		q.added = append(q.added, fmt.Sprintf("%s after %s at %s", item.Name, o.After, ptrTo(o.Priority)))
	}
}

// TestNotificationPriority verifies that a notified change precedes polls and follows requests of users, and that a
// resync after an interruption is a poll.
func TestNotificationPriority(t *testing.T) {
	h := &herald{}
	w, _, _ := newWatchedWorld(t, h)
	q := &ranked{}
	w.Must(w.r.Notifications().Start(t.Context(), q))
	w.pass()
	h.to.Changed(key.Name)
	h.to.Interrupted()
	want := []string{
		fmt.Sprintf("data after 200ms at %d", controller.PriorityErrorRetry),
		fmt.Sprintf("data after 30s at %d", controller.PriorityPoll),
	}
	if !cmp.Equal(q.added, want) {
		t.Errorf("woken: %q, want %q", q.added, want)
	}
}

// TestAThrottledNotificationKeepsItsPriority verifies that a throttled notification keeps its priority until it is
// handled, and is not reported on the object.
func TestAThrottledNotificationKeepsItsPriority(t *testing.T) {
	h, clock := &herald{}, testclock.NewFakePassiveClock(time.Now())
	w, _, _ := newWatchedWorld(t, h, managed.WithClock(clock), managed.WithLimits(limit.NewSet(limit.WithClock(clock))),
		managed.WithKstatusConditions())
	w.pass()
	w.pass()
	priority := func(want int) {
		t.Helper()
		result, err := w.try()
		if err != nil || result.Priority == nil || *result.Priority != want {
			t.Errorf("result %+v at %s, error %v, want priority %d", result, ptrTo(result.Priority), err, want)
		}
	}
	priority(controller.PriorityPoll)
	w.cloud.Before = failing("Observe", external.Throttled("", time.Hour, errors.New("429")))
	priority(controller.PriorityPoll)
	h.to.Changed(key.Name)
	w.taken()
	priority(controller.PriorityErrorRetry)
	w.expect("", "Connect", "")
	w.condition("Reconciling", "False/ReconcileSuccess")
	w.cloud.Before = nil
	clock.SetTime(clock.Now().Add(2 * time.Hour))
	priority(controller.PriorityPoll)
}
