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

// leading is a syncer to which every host object leads, under its own name, and which notes when it is asked for it.
type leading struct {
	Syncer

	answers *answers
}

// answers are what a syncer that leads is to answer, and when it was asked. They are safe for concurrent use.
type answers struct {
	mu    sync.Mutex
	fails bool
	asked []time.Duration // since the start
	start time.Time
}

// fail sets whether it fails from now on.
func (a *answers) fail(fails bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fails = fails
}

// taken returns when it was asked since the last time, and begins anew.
func (a *answers) taken() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked, a.start = nil, time.Now()
	return asked
}

func (l leading) IsManaged(obj client.Object) (bool, error) {
	a := l.answers
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, time.Since(a.start))
	if a.fails {
		return false, errors.New("cannot tell of " + obj.GetName())
	}
	return true, nil
}

func (leading) PhysicalToVirtual(obj client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: "virtual", Name: obj.GetName()}
}

func newWatch(s leading) *hostWatch {
	return newHostWatch(&reconciler{syncer: s, mem: newMemory(testclock.NewFakePassiveClock(time.Unix(1000, 0))), log: logging.NewNopLogger()})
}

// adding is a queue of which a test sees what is added, at the moment when it is.
type adding struct {
	queue

	added func(reconcile.Request)
}

func (a adding) Add(r reconcile.Request) { a.added(r) }

// TestEventsAreNoted: an event of either cache is let through to a pass, and tells what that cache shows now, or that the object is gone.
func TestEventsAreNoted(t *testing.T) {
	made, deleted := written{uid: "a", version: "8"}, written{uid: "a", version: "8", deleted: true}
	cases := map[string]struct {
		reason  string
		kind    string
		version string
		our     written
		noted   bool // it shows our write
	}{
		"Created":  {"Our write has come.", "create", "8", made, true},
		"Listed":   {"An older object has come.", "create", "7", made, false},
		"Updated":  {"A later version has come.", "update", "9", made, true},
		"Earlier":  {"An earlier version has come.", "update", "7", made, false},
		"Deleted":  {"What we deleted is gone.", "delete", "8", deleted, true},
		"NotYet":   {"What we deleted was changed before.", "update", "9", deleted, false},
		"GoneThen": {"What we wrote was deleted at once.", "delete", "7", made, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWatch(leading{answers: &answers{}})
			obj, before := configMap("a", tc.version, false), configMap("a", "1", false)
			place := map[side]place{}
			for _, s := range []side{virtual, physical} {
				place[s] = placeOf(s, obj)
				w.r.mem.writes[place[s]] = tc.our
			}
			seen, through := virtualSeen(w.r.mem), false
			var led []string
			q := adding{added: func(r reconcile.Request) { led = append(led, r.String()) }}
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
				t.Errorf("%s\nlet through is %t; the event of the host led to: -want, +got:\n%s", tc.reason, through, diff)
			}
			for s, at := range place {
				if _, pending := w.r.mem.writes[at]; pending == tc.noted {
					t.Errorf("%s\nside %d: our write is awaited: %t", tc.reason, s, pending)
				}
			}
		})
	}
}

func placeOf(s side, obj *corev1.ConfigMap) place { return place{s, client.ObjectKeyFromObject(obj)} }

// TestGenericEvents: an event that somebody else makes leads to a pass as well, and does not say that an object is gone.
func TestGenericEvents(t *testing.T) {
	w, obj := newWatch(leading{answers: &answers{}}), configMap("a", "7", false)
	at := placeOf(physical, obj)
	w.r.mem.writes[at] = written{uid: "a", version: "8"}
	led := 0
	w.handler().Generic(t.Context(), event.GenericEvent{Object: obj}, adding{added: func(reconcile.Request) { led++ }})
	if _, pending := w.r.mem.writes[at]; !pending || led != 1 || !virtualSeen(w.r.mem).Generic(event.GenericEvent{Object: obj}) {
		t.Errorf("our write is awaited: %t; led to %d passes", pending, led)
	}
}

// TestEventsOfTheHostAreRemembered: where an image is, is known before the pass is made that asks for it; and who waits for its name is woken, even if it
// cannot be told whose the image is.
func TestEventsOfTheHostAreRemembered(t *testing.T) {
	says := &answers{}
	w, obj := newWatch(leading{answers: says}), configMap("a", "7", false)
	host, v := client.ObjectKeyFromObject(obj), types.NamespacedName{Namespace: "virtual", Name: "a"}
	var known []types.NamespacedName
	w.seen(obj, false, adding{added: func(r reconcile.Request) { known = w.r.mem.known(r.NamespacedName) }})
	if !slices.Equal(known, []types.NamespacedName{host}) || !slices.Equal(w.r.mem.known(v), known) {
		t.Errorf("known in the pass: %v, after it: %v", known, w.r.mem.known(v))
	}
	says.fail(true)
	waits := types.NamespacedName{Namespace: "virtual", Name: "waits"}
	w.r.mem.wait(waits, host)
	var woken []types.NamespacedName
	w.seen(obj, true, adding{added: func(r reconcile.Request) { woken = append(woken, r.NamespacedName) }})
	if !slices.Equal(woken, []types.NamespacedName{waits}) {
		t.Errorf("woken: %v", woken)
	}
}

// TestKeptEventsBackOff: events that cannot be told are tried again after delays that double, from a second to a minute, whatever else comes; and from the
// beginning once one could be told.
func TestKeptEventsBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		says := &answers{fails: true, start: time.Now()}
		w, obj := newWatch(leading{answers: says}), configMap("a", "7", false)
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedItemBasedRateLimiter[reconcile.Request]())
		want := func(reason string, until time.Duration, want ...time.Duration) {
			t.Helper()
			<-time.After(until)
			synctest.Wait()
			if diff := cmp.Diff(want, says.taken()); diff != "" {
				t.Errorf("%s\nasked: -want, +got:\n%s", reason, diff)
			}
		}
		w.seen(obj, false, q) // before the start
		if err := w.start(ctx, q); err != nil {
			t.Fatal(err)
		}
		w.seen(obj, false, q)
		const s = time.Second
		want("Two events failed, and then each try.", 250*s, 0, 0, s, 5*s, 13*s, 29*s, 61*s, 121*s, 181*s, 241*s)

		says.fail(false)
		w.seen(obj, false, q)
		want("A newer event could be told: what is left of the old one is not tried.", 120*s, 0)
		says.fail(true)
		w.seen(obj, false, q)
		want("The first failure of another event.", 2*s, 0, s)
		says.fail(false)
		want("It could be told.", 10*s, s)
		says.fail(true)
		w.seen(obj, false, q)
		want("And again the first one.", 2*s, 0, s)
		w.mu.Lock()
		if len(w.kept) != 1 {
			t.Errorf("%d events are kept", len(w.kept))
		}
		w.mu.Unlock()
		stop()
		q.ShutDown()
		synctest.Wait()
	})
}

// TestKeptEventOfANewerObject: a newer event that comes while an older one is tried is not dropped with it.
func TestKeptEventOfANewerObject(t *testing.T) {
	says := &answers{fails: true}
	w := newWatch(leading{answers: says})
	w.retry = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedItemBasedRateLimiter[hostObject]())
	defer w.retry.ShutDown()
	older, newer := configMap("a", "7", false), configMap("a", "8", false)
	w.seen(older, false, nil)
	says.fail(false)
	w.retry.Add(hostObjectOf(older))
	if !w.again(w.retry, adding{added: func(reconcile.Request) { w.keep(hostObjectOf(newer), newer) }}) || w.kept[hostObjectOf(newer)] != newer {
		t.Errorf("kept: %v", w.kept)
	}
}
