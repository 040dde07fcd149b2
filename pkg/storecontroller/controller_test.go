package storecontroller

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// TestPrimaryEvents checks that each change of a primary leads to a pass, and that the controller's own status updates
// do not.
func TestPrimaryEvents(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("early", 1) }, func(w *world) {
		w.expectPasses("early 1", "early 1") // the second pass is for the new part
		w.create("ns/a", 2)
		w.settle()
		w.expectPasses("ns/a 2", "ns/a 2")
		w.expectParts("early", "ns/a")

		a, err := w.primaries.Get(t.Context(), "ns/a")
		w.must(err)
		a.Spec.Size = 3
		_, err = w.primaries.Update(t.Context(), a)
		w.must(err)
		w.settle()
		w.expectPasses("ns/a 3")

		w.must(w.primaries.Delete(t.Context(), "ns/a"))
		w.settle()
		w.expectPasses("ns/a gone", "ns/a gone")
		w.expectParts("early")
		w.advance(time.Hour)
		w.expectPasses()
		w.events.expect(t)
	})
}

// TestSecondaryIsRecreated checks that a deleted part is created again.
func TestSecondaryIsRecreated(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.expectPasses("a 1", "a 1")
		w.must(w.parts.Delete(t.Context(), "a"))
		w.settle()
		w.expectPasses("a 1", "a 1")
		w.expectParts("a")

		other := storetest.NewThing("other", 1)
		other.Metadata.Owners = []store.Owner{{Kind: "another", Key: "a"}}
		_, err := w.parts.Create(t.Context(), other)
		w.must(err)
		w.settle()
		w.expectPasses()
	})
}

// TestReadsEnqueuesOldAndNewKeys checks that the function maps both the old and the new state of an object.
func TestReadsEnqueuesOldAndNewKeys(t *testing.T) {
	volumes := newMemory("volumes")
	reads := func(*world) Dependency {
		return Reads(store.NewInformer(volumes, store.InformerOptions{}),
			func(_ context.Context, v *thing) []string { return []string{v.Spec.Text} })
	}
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.expectPasses("a 1", "a 1")
		v := storetest.NewThing("v", 1)
		v.Spec.Text = "a"
		v, err := volumes.Create(t.Context(), v)
		w.must(err)
		w.settle()
		w.expectPasses("a 1")
		v.Spec.Text = "b"
		_, err = volumes.Update(t.Context(), v)
		w.must(err)
		w.settle()
		w.expectPasses("a 1", "b gone") // the old key and the new key
	}, reads)
}

// TestExternal checks that any source of keys can enqueue; invalid keys are ignored.
func TestExternal(t *testing.T) {
	var own Pusher
	own.Push("a")
	other := source.TypedFunc[Request](func(_ context.Context, q workqueue.TypedRateLimitingInterface[Request]) error {
		q.Add(Request{Key: "b"})

		return nil
	})
	inWorld(t, Options{}, nil, func(w *world) {
		w.expectPasses("a gone", "b gone")
		own.Push("", "no key", "c")
		own.PushAfter(time.Minute, "d")
		w.c.EnqueueAfter(time.Minute, "e")
		w.c.Enqueue("f")
		w.settle()
		w.expectPasses("c gone", "f gone")
		w.advance(time.Minute)
		w.expectPasses("d gone", "e gone")
	}, func(*world) Dependency { return External("own", &own) }, func(*world) Dependency {
		return External("other",
			other)
	})
}

// TestErrorsRequeueWithBackoff checks that errors and conflicts are retried with backoff.
func TestErrorsRequeueWithBackoff(t *testing.T) {
	for name, err := range map[string]error{"Error": errors.New("boom"), "Conflict": store.ErrConflict} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func(w *world) { w.fail["a"] = err }, func(w *world) {
				w.create("a", 1)
				w.advance(5 * time.Second)
				w.mu.Lock()
				n := len(w.passes)
				delete(w.fail, "a")
				w.passes = nil
				w.mu.Unlock()
				if n < 8 || n > 12 { // backoff from 5 ms, doubled each time
					w.Errorf("%d passes in five seconds", n)
				}
				w.advance(time.Minute)
				w.expectPasses("a 1", "a 1")
				w.advance(time.Hour)
				w.expectPasses()
			})
		})
	}
}

// TestResync checks that all primaries are reconciled again at each interval.
func TestResync(t *testing.T) {
	inWorld(t, Options{Resync: time.Hour}, func(w *world) { w.create("a", 1); w.create("b", 2) }, func(w *world) {
		w.expectPasses("a 1", "a 1", "b 2", "b 2")
		w.advance(time.Hour)
		w.expectPasses("a 1", "b 2")
		w.advance(30 * time.Minute)
		w.expectPasses()
		w.advance(30 * time.Minute)
		w.expectPasses("a 1", "b 2")
	})
}

// TestPrimaryExpiredWithoutEvent checks that a primary that was removed without an event is found missing.
func TestPrimaryExpiredWithoutEvent(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.expectPasses("a 1", "a 1")
		w.primaries.Vanish("a")
		w.advance(2 * time.Minute) // the informer lists every minute
		w.expectPasses("a gone", "a gone")
		w.expectParts()
	})
}

// TestUndecodablePrimaryIsSkipped checks that an entry that cannot be decoded is skipped, and does not count as
// deleted.
func TestUndecodablePrimaryIsSkipped(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.expectPasses("a 1", "a 1")
		w.must(w.primaries.Write("bad", []byte("{")))
		w.c.Enqueue("bad")
		w.create("b", 2)
		w.settle()
		w.expectPasses("b 2", "b 2")
		w.must(w.primaries.Write("a", []byte("{")))
		w.settle()
		w.c.Enqueue("a")
		w.settle()
		w.expectPasses()
		w.expectParts("a", "b")
	})
}

// TestReadYourWrites checks that a pass sees the controller's own last write, even if the cache is stale.
func TestReadYourWrites(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("a", 1); w.skipParts = true }, func(w *world) {
		a, err := w.primaries.Get(t.Context(), "a")
		w.must(err)
		a.Spec.Size = 2
		a, err = w.c.Primaries().Update(t.Context(), a)
		w.must(err)
		found, err := w.c.readPrimary(t.Context(), "a") // the informer has not run since
		w.must(err)
		if found.object.Metadata.Revision != a.Metadata.Revision {
			w.Errorf("a pass would see revision %d, want %d", found.object.Metadata.Revision, a.Metadata.Revision)
		}
		w.settle()
		if _, err := w.c.readPrimary(t.Context(), "a"); err != nil || len(w.c.lastWrites) != 0 {
			w.Errorf("the write is still recorded although the cache has it: %v, %v", w.c.lastWrites, err)
		}
	})
}
