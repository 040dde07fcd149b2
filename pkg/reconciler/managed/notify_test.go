package managed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A herald is an event source of the external system.
type herald struct {
	mu     sync.Mutex
	to     managed.ExternalNotifications
	begun  int
	ended  int
	refuse error
}

func (h *herald) Subscribe(_ context.Context, _ resource.Managed, to managed.ExternalNotifications) (func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun++
	if h.refuse != nil {
		return nil, h.refuse
	}
	h.to = to

	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.ended++
	}, nil
}

func (h *herald) counts() (begun, ended int) {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.begun, h.ended
}

const notifiedPoll = 30 * crowdPoll

// newNotified returns a settled crowd with notifications of a herald.
func newNotified(t *testing.T, h *herald, o ...managed.ReconcilerOption) *crowd {
	t.Helper()
	f := newCrowd(t, append([]managed.ReconcilerOption{managed.WithExternalEvents(h, notifiedPoll),
		managed.WithRandom(rand.Float64)}, o...)...)
	f.cloud.Before = nil
	queue, ok := f.queue.(workqueue.TypedRateLimitingInterface[reconcile.Request])
	if !ok {
		t.Fatal("the queue is none of a controller")
	}
	if err := f.r.Notifications().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	f.operate()
	<-time.After(3 * crowdPoll)

	return f
}

// TestANotificationIsObserved verifies that polls are rare with notifications, and that a notified change is
// observed once within a moment.
func TestANotificationIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &herald{}
		f := newNotified(t, h)
		if n := f.during(10 * notifiedPoll); n["Observe"] < 8*crowdSize || n["Observe"] > 12*crowdSize {
			t.Errorf("calls %v in ten long poll intervals of %d objects", n, crowdSize)
		}
		f.cloud.Put(volume.Disk{ID: "v03", SizeGiB: 99})
		f.cloud.Forget()
		h.to.Changed("v03", "nobody's", "")
		<-time.After(time.Second)
		if got := f.cloud.Count("Update"); got != 1 {
			t.Errorf("%d updates within a second after the change was told: %v", got, f.cloud.Calls())
		}
		before := f.cloud.Count("Observe")
		for range 1000 {
			h.to.Changed("v04")
			<-time.After(time.Millisecond)
		}
		<-time.After(time.Second)
		if got := f.cloud.Count("Observe") - before; got < 1 || got > 10 {
			t.Errorf("%d observations of what was told to have changed a thousand times in a second", got)
		}
		if begun, ended := h.counts(); begun != 1 || ended != 0 {
			t.Errorf("subscribed %d times, ended %d times, want one subscription for all", begun, ended)
		}
	})
}

// TestAnInterruptedSource verifies that polls are made as without notifications while the source is interrupted.
func TestAnInterruptedSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &herald{}
		f := newNotified(t, h)
		<-time.After(time.Second)
		h.to.Interrupted()
		f.cloud.Put(volume.Disk{ID: "v03", SizeGiB: 99})
		if n := f.during(crowdPoll + time.Second); n["Update"] != 1 || n["Observe"] < crowdSize {
			t.Errorf("calls %v in a poll interval after the interruption: all are to be looked at", n)
		}
		if n := f.during(10 * crowdPoll); n["Observe"] < 9*crowdSize {
			t.Errorf("calls %v in ten poll intervals while nothing is told", n)
		}
		f.cloud.Put(volume.Disk{ID: "v04", SizeGiB: 99})
		h.to.Resumed()
		if n := f.during(crowdPoll + time.Second); n["Update"] != 1 || n["Observe"] < crowdSize {
			t.Errorf("calls %v in a poll interval after it was over: what was lost is to be found", n)
		}
		if n := f.during(notifiedPoll - 5*crowdPoll); n["Observe"] > crowdSize/10 {
			t.Errorf("calls %v while all is told again", n)
		}
	})
}

// TestASourceThatRefuses verifies that a failed subscription is retried, and costs only polls.
func TestASourceThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &herald{refuse: errors.New("no permission for $JS.EVENT")}
		f := newNotified(t, h)
		if n := f.during(60 * crowdPoll); n["Observe"] < 59*crowdSize {
			t.Errorf("calls %v in 60 poll intervals", n)
		}
		if begun, _ := h.counts(); begun < 5 || begun > 10 {
			t.Errorf("tried %d times in ten minutes, want less and less often", begun)
		}
		h.mu.Lock()
		h.refuse = nil
		h.mu.Unlock()
		<-time.After(6 * time.Minute)
		f.cloud.Put(volume.Disk{ID: "v03", SizeGiB: 99})
		h.to.Changed("v03")
		if n := f.during(time.Second); n["Update"] != 1 {
			t.Errorf("calls %v after the source has begun to tell", n)
		}
	})
}

// TestANotificationIsNotServedByAStaleList verifies that a notified change is not served by an older list.
func TestANotificationIsNotServedByAStaleList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &herald{}
		f := newNotified(t, h, managed.WithBulkObservation(0))
		if n := f.during(10 * notifiedPoll); n["Observe"] > crowdSize/10 || n["List"] < 8 || n["List"] > 20 {
			t.Errorf("calls %v in ten long poll intervals", n)
		}
		for i := range 20 {
			name := fmt.Sprintf("v%02d", i)
			f.cloud.Put(volume.Disk{ID: name, SizeGiB: 99})
			h.to.Changed(name)
			if n := f.during(2 * time.Second); n["Update"] != 1 || n["Observe"] != 2 {
				t.Errorf("calls %v after %s was told to have changed", n, name)
			}
		}
	})
}

// A wokenQueue notes who is put into it.
type wokenQueue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	mu    sync.Mutex
	woken map[string]int
}

func (q *wokenQueue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	q.mu.Lock()
	for _, item := range items {
		q.woken[item.Name]++
	}
	q.mu.Unlock()
	q.PriorityQueue.AddWithOpts(o, items...)
}

// said returns who was woken since it was asked last.
func (q *wokenQueue) said() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	woken := q.woken
	q.woken = map[string]int{}

	return woken
}

// TestNotificationsOfUnknownNames verifies that notifications of unknown names enqueue nothing, take no memory, and
// do not block others.
func TestNotificationsOfUnknownNames(t *testing.T) {
	foreign := make([]string, 1000)
	for i := range foreign {
		foreign[i] = fmt.Sprintf("stranger-%d", i)
	}
	cases := map[string]struct {
		reason string
		names  []string
	}{
		"nothing":   {"A source may have nothing to say.", nil},
		"no name":   {"That of nothing is nobody's.", []string{"", ""}},
		"strangers": {"Others may use the connection, more than we do.", foreign},
		"gone":      {"Of what is gone there may be something to tell.", []string{"v05"}},
		"alike": {"Names are not to be interpreted.",
			[]string{"V03", "v03 ", " v03", "v3", "v03\x00", "default/v03", "v03,v04", "*", "v%"}},
		"no text": {"They need be no text.", []string{"\xff\xfe"}},
		"endless": {"They may have any length.", []string{strings.Repeat("v03", 1<<20)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, registry := &herald{}, prometheus.NewRegistry()
				f := newNotified(t, h, managed.WithMetricsRegisterer(registry))
				q := &wokenQueue{PriorityQueue: f.queue, woken: map[string]int{}}
				if err := f.r.Notifications().Start(t.Context(), q); err != nil {
					t.Fatal(err)
				}
				f.user(5, nil)
				<-time.After(time.Second)
				f.queue.Add(named(5)) // as the event of its end does
				<-time.After(time.Second)
				before := f.r.Remembered()

				h.to.Changed(tc.names...)
				if woken := q.said(); len(woken) > 0 {
					t.Errorf("%s\n%v were woken", tc.reason, woken)
				}
				h.to.Changed(slices.Concat(tc.names, []string{"v03"}, tc.names)...)
				if diff := cmp.Diff(map[string]int{"v03": 1}, q.said()); diff != "" {
					t.Errorf("%s\nwoken by what was said in between: -want, +got:\n%s", tc.reason, diff)
				}
				<-time.After(time.Second)
				if after := f.r.Remembered(); after != before || f.cloud.Count("Update")+f.cloud.Count("Delete") != 1 {
					t.Errorf("%s\n%d things are remembered, were %d; calls %v", tc.reason, after, before,
						f.cloud.Calls())
				}
				const counter = "moorage_managed_external_notifications_total result="
				if unknown, woke := metric(t, registry, counter+"unknown"), metric(t, registry,
					counter+"woke"); int(unknown) != 3*len(tc.names) || woke != 1 {
					t.Errorf("%s\n%v names were counted as unknown and %v as known, want %d and 1", tc.reason,
						unknown, woke, 3*len(tc.names))
				}
			})
		})
	}
}

// TestASubscriptionEndsWithItsObjects verifies that a subscription ends with the last object of its connection.
func TestASubscriptionEndsWithItsObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &herald{}
		f := newNotified(t, h)
		for i := range crowdSize {
			f.user(i, nil)
		}
		<-time.After(time.Minute)
		for i := range crowdSize {
			f.queue.Add(named(i)) // as the event of its end does
		}
		<-time.After(time.Minute)
		if begun, ended := h.counts(); begun != 1 || ended != 1 {
			t.Errorf("subscribed %d times, ended %d times, and no object is left", begun, ended)
		}
		h.to.Changed("v03")
		h.to.Interrupted()
		h.to.Resumed()
		if n := f.during(time.Minute); len(n) > 0 {
			t.Errorf("calls %v for nobody", n)
		}
	})
}

// TestAnOwnIntervalIsKept verifies that an object with its own poll interval keeps it with notifications.
func TestAnOwnIntervalIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newNotified(t, &herald{})
		f.user(5, func(v *volume.Volume) { v.Annotations = map[string]string{"moorage.dev/poll-interval": "5s"} })
		<-time.After(time.Second)
		if n := f.during(5 * time.Minute); n["Observe"] < 50 || n["Observe"] > 70+2*crowdSize {
			t.Errorf("calls %v in five minutes, of which one object asks for one each five seconds", n)
		}
	})
}
