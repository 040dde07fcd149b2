package syncer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// A mappingSyncer maps every host object to a virtual object of the same name and records
// the calls.
type mappingSyncer struct {
	Syncer

	answers *mappingResults
}

// mappingResults contains the results of a mappingSyncer and the times of its calls. It
// is safe for concurrent use.
type mappingResults struct {
	mu    sync.Mutex
	fails bool
	calls []time.Duration // since the start
	start time.Time
}

// setFails sets whether the mapping fails from now on.
func (a *mappingResults) setFails(fails bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fails = fails
}

// takeCalls returns the times of the calls since the last takeCalls.
func (a *mappingResults) takeCalls() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.calls
	a.calls, a.start = nil, time.Now()
	return asked
}

func (l mappingSyncer) IsManaged(obj client.Object) (bool, error) {
	a := l.answers
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, time.Since(a.start))
	if a.fails {
		return false, errors.New("cannot map " + obj.GetName())
	}
	return true, nil
}

func (mappingSyncer) PhysicalToVirtual(obj client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: "virtual", Name: obj.GetName()}
}

func newTestHostWatch(s mappingSyncer) *hostWatch {
	return newHostWatch(&reconciler{
		syncer: s, tracker: newTracker(testclock.NewFakePassiveClock(time.Unix(1000, 0))), log: logging.NewNopLogger(),
	})
}

// A recordingQueue calls a function for each added request.
type recordingQueue struct {
	queue

	added func(reconcile.Request)
}

func (a recordingQueue) Add(r reconcile.Request) { a.added(r) }

// TestEventsUpdateTracker verifies that an event of either cache leads to a pass and
// updates the tracker.
func TestEventsUpdateTracker(t *testing.T) {
	made, deleted := pendingWrite{uid: "a", version: "8"}, pendingWrite{uid: "a", version: "8", deleted: true}
	cases := map[string]struct {
		reason  string
		kind    string
		version string
		our     pendingWrite
		noted   bool // it shows our write
	}{
		"Created":  {"The write arrives.", "create", "8", made, true},
		"Listed":   {"An older object arrives.", "create", "7", made, false},
		"Updated":  {"A later version arrives.", "update", "9", made, true},
		"Earlier":  {"An earlier version arrives.", "update", "7", made, false},
		"Deleted":  {"The deleted object is gone.", "delete", "8", deleted, true},
		"NotYet":   {"The deleted object was changed before.", "update", "9", deleted, false},
		"GoneThen": {"The written object was deleted at once.", "delete", "7", made, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newTestHostWatch(mappingSyncer{answers: &mappingResults{}})
			obj, before := configMap("a", tc.version, false), configMap("a", "1", false)
			place := map[side]objectKey{}
			for _, s := range []side{virtual, physical} {
				place[s] = keyOf(s, obj)
				w.r.tracker.writes[place[s]] = tc.our
			}
			seen, through := virtualPredicate(w.r.tracker), false
			var led []string
			q := recordingQueue{added: func(r reconcile.Request) { led = append(led, r.String()) }}
			switch h := w.handler(); tc.kind {
			case "create":
				h.Create(t.Context(), event.CreateEvent{Object: obj}, q)
				through = seen.Create(event.CreateEvent{Object: obj})
			case "update":
				h.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: obj}, q)
				through = seen.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: obj})
			case "delete":
				h.Delete(t.Context(), event.DeleteEvent{Object: obj}, q)
				through = seen.Delete(event.DeleteEvent{Object: obj})
			}
			if diff := cmp.Diff([]string{"virtual/a"}, led); diff != "" || !through {
				t.Errorf("%s\naccepted: %t; enqueued for the host event: -want, +got:\n%s", tc.reason, through, diff)
			}
			for s, at := range place {
				if _, pending := w.r.tracker.writes[at]; pending == tc.noted {
					t.Errorf("%s\nside %d: pending write: %t", tc.reason, s, pending)
				}
			}
		})
	}
}

func keyOf(s side, obj *corev1.ConfigMap) objectKey {
	return objectKey{s, client.ObjectKeyFromObject(obj)}
}

// TestGenericEvents verifies that a generic event leads to a pass and does not count as a
// deletion.
func TestGenericEvents(t *testing.T) {
	w, obj := newTestHostWatch(mappingSyncer{answers: &mappingResults{}}), configMap("a", "7", false)
	at := keyOf(physical, obj)
	w.r.tracker.writes[at] = pendingWrite{uid: "a", version: "8"}
	led := 0
	w.handler().Generic(t.Context(), event.GenericEvent{Object: obj}, recordingQueue{
		added: func(reconcile.Request) { led++ },
	})
	if _, pending := w.r.tracker.writes[at]; !pending || led != 1 ||
		!virtualPredicate(w.r.tracker).Generic(event.GenericEvent{Object: obj}) {
		t.Errorf("pending write: %t; enqueued %d times", pending, led)
	}
}

// TestHandleEventTracksHostName verifies that the host name is tracked before the request
// is enqueued, and that waiters are enqueued even if the mapping fails.
func TestHandleEventTracksHostName(t *testing.T) {
	says := &mappingResults{}
	w, obj := newTestHostWatch(mappingSyncer{answers: says}), configMap("a", "7", false)
	host, v := client.ObjectKeyFromObject(obj), types.NamespacedName{Namespace: "virtual", Name: "a"}
	var known []types.NamespacedName
	w.handleEvent(obj, false, recordingQueue{
		added: func(r reconcile.Request) { known = w.r.tracker.hostNames(r.NamespacedName) },
	})
	if !slices.Equal(known, []types.NamespacedName{host}) || !slices.Equal(w.r.tracker.hostNames(v), known) {
		t.Errorf("host names in the pass: %v, after it: %v", known, w.r.tracker.hostNames(v))
	}
	says.setFails(true)
	waiting := types.NamespacedName{Namespace: "virtual", Name: "waiting"}
	w.r.tracker.addWaiter(waiting, host)
	var names []types.NamespacedName
	w.handleEvent(obj, true, recordingQueue{added: func(r reconcile.Request) { names = append(names, r.NamespacedName) }})
	if !slices.Equal(names, []types.NamespacedName{waiting}) {
		t.Errorf("enqueued: %v", names)
	}
}

// TestFailedEventsBackoff verifies that failed events are retried with a backoff from a
// second to a minute, independently of other events, and that a success resets the
// backoff.
func TestFailedEventsBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		says := &mappingResults{fails: true, start: time.Now()}
		w, obj := newTestHostWatch(mappingSyncer{answers: says}), configMap("a", "7", false)
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedItemBasedRateLimiter[reconcile.Request]())
		want := func(reason string, until time.Duration, want ...time.Duration) {
			t.Helper()
			<-time.After(until)
			synctest.Wait()
			if diff := cmp.Diff(want, says.takeCalls()); diff != "" {
				t.Errorf("%s\nasked: -want, +got:\n%s", reason, diff)
			}
		}
		w.handleEvent(obj, false, q) // before the start
		if err := w.start(ctx, q); err != nil {
			t.Fatal(err)
		}
		w.handleEvent(obj, false, q)
		const s = time.Second
		want("Two events fail, and then each retry.", 250*s, 0, 0, s, 5*s, 13*s, 29*s, 61*s, 121*s, 181*s, 241*s)

		says.setFails(false)
		w.handleEvent(obj, false, q)
		want("A newer event succeeds: the old one is not retried.", 120*s, 0)
		says.setFails(true)
		w.handleEvent(obj, false, q)
		want("The first failure of another event.", 2*s, 0, s)
		says.setFails(false)
		want("It succeeds.", 10*s, s)
		says.setFails(true)
		w.handleEvent(obj, false, q)
		want("And again the first one.", 2*s, 0, s)
		w.mu.Lock()
		if len(w.failed) != 1 {
			t.Errorf("%d failed events", len(w.failed))
		}
		w.mu.Unlock()
		stop()
		q.ShutDown()
		synctest.Wait()
	})
}

// TestFailedEventIsReplacedByNewerEvent verifies that an event that arrives while an
// older one is retried is not dropped with it.
func TestFailedEventIsReplacedByNewerEvent(t *testing.T) {
	says := &mappingResults{fails: true}
	w := newTestHostWatch(mappingSyncer{answers: says})
	w.retry = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedItemBasedRateLimiter[hostObject]())
	defer w.retry.ShutDown()
	older, newer := configMap("a", "7", false), configMap("a", "8", false)
	w.handleEvent(older, false, nil)
	says.setFails(false)
	w.retry.Add(hostObjectOf(older))
	if !w.processNextRetry(w.retry, recordingQueue{
		added: func(reconcile.Request) { w.addFailed(hostObjectOf(newer), newer) },
	}) || w.failed[hostObjectOf(newer)] != newer {
		t.Errorf("failed events: %v", w.failed)
	}
}
