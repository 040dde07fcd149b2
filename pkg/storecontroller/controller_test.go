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

func storeIs(err, target error) bool { return errors.Is(err, target) }

// TestPrimaries: each change is acted on, its own writes are none.
func TestPrimaries(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("early", 1) }, func(w *world) {
		w.saw("early 1", "early 1") // the second is for the part, which was made meanwhile
		w.create("ns/a", 2)
		w.rest()
		w.saw("ns/a 2", "ns/a 2")
		w.have("early", "ns/a")

		a, err := w.primaries.Get(t.Context(), "ns/a")
		w.must(err)
		a.Spec.Size = 3
		_, err = w.primaries.Update(t.Context(), a)
		w.must(err)
		w.rest()
		w.saw("ns/a 3")

		w.must(w.primaries.Delete(t.Context(), "ns/a"))
		w.rest()
		w.saw("ns/a gone", "ns/a gone")
		w.have("early")
		w.pass(time.Hour)
		w.saw()
		w.events.said(t)
	})
}

// TestSecondaries: a part that goes is made again.
func TestSecondaries(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.saw("a 1", "a 1")
		w.must(w.parts.Delete(t.Context(), "a"))
		w.rest()
		w.saw("a 1", "a 1")
		w.have("a")

		other := storetest.NewThing("other", 1)
		other.Metadata.Owners = []store.Owner{{Kind: "another", Key: "a"}}
		_, err := w.parts.Create(t.Context(), other)
		w.must(err)
		w.rest()
		w.saw()
	})
}

// TestTertiaries: what is read leads to whom the function says.
func TestTertiaries(t *testing.T) {
	volumes := newMemory("volumes")
	reads := func(*world) Dependency {
		return Reads(store.NewInformer(volumes, store.InformerOptions{}), func(_ context.Context, v *thing) []string { return []string{v.Spec.Text} })
	}
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.saw("a 1", "a 1")
		v := storetest.NewThing("v", 1)
		v.Spec.Text = "a"
		v, err := volumes.Create(t.Context(), v)
		w.must(err)
		w.rest()
		w.saw("a 1")
		v.Spec.Text = "b"
		_, err = volumes.Update(t.Context(), v)
		w.must(err)
		w.rest()
		w.saw("a 1", "b gone") // who it was about, and who it is about
	}, reads)
}

// TestExternal: any source of keys is one; keys that no store has are dropped.
func TestExternal(t *testing.T) {
	var own Pusher
	own.Push("a")
	other := source.TypedFunc[Request](func(_ context.Context, q workqueue.TypedRateLimitingInterface[Request]) error {
		q.Add(Request{Key: "b"})

		return nil
	})
	inWorld(t, Options{}, nil, func(w *world) {
		w.saw("a gone", "b gone")
		own.Push("", "no key", "c")
		own.PushAfter(time.Minute, "d")
		w.c.EnqueueAfter(time.Minute, "e")
		w.c.Enqueue("f")
		w.rest()
		w.saw("c gone", "f gone")
		w.pass(time.Minute)
		w.saw("d gone", "e gone")
	}, func(*world) Dependency { return External("own", &own) }, func(*world) Dependency { return External("other", other) })
}

// TestErrors: an error comes back, each time later; a conflict comes back, too.
func TestErrors(t *testing.T) {
	for name, err := range map[string]error{"Error": errors.New("boom"), "Conflict": store.ErrConflict} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{}, func(w *world) { w.fail["a"] = err }, func(w *world) {
				w.create("a", 1)
				w.pass(5 * time.Second)
				w.mu.Lock()
				n := len(w.passes)
				delete(w.fail, "a")
				w.passes = nil
				w.mu.Unlock()
				if n < 8 || n > 12 { // 5 ms, doubled each time
					w.Errorf("%d passes in five seconds", n)
				}
				w.pass(time.Minute)
				w.saw("a 1", "a 1")
				w.pass(time.Hour)
				w.saw()
			})
		})
	}
}

// TestResync: all primaries are looked at again, from time to time.
func TestResync(t *testing.T) {
	inWorld(t, Options{Resync: time.Hour}, func(w *world) { w.create("a", 1); w.create("b", 2) }, func(w *world) {
		w.saw("a 1", "a 1", "b 2", "b 2")
		w.pass(time.Hour)
		w.saw("a 1", "b 2")
		w.pass(30 * time.Minute)
		w.saw()
		w.pass(30 * time.Minute)
		w.saw("a 1", "b 2")
	})
}

// TestVanished: a primary that went without an event is found gone.
func TestVanished(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.saw("a 1", "a 1")
		w.primaries.Vanish("a")
		w.pass(2 * time.Minute) // the informer compares every minute
		w.saw("a gone", "a gone")
		w.have()
	})
}

// TestUnreadable: an entry that cannot be decoded is skipped, and is not gone.
func TestUnreadable(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("a", 1) }, func(w *world) {
		w.saw("a 1", "a 1")
		w.must(w.primaries.Write("bad", []byte("{")))
		w.c.Enqueue("bad")
		w.create("b", 2)
		w.rest()
		w.saw("b 2", "b 2")
		w.must(w.primaries.Write("a", []byte("{")))
		w.rest()
		w.c.Enqueue("a")
		w.rest()
		w.saw()
		w.have("a", "b")
	})
}

// TestReadsItsWrites: a pass does not begin with what the controller has changed
// since, although the copy does not have that yet.
func TestReadsItsWrites(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.create("a", 1); w.lazy = true }, func(w *world) {
		a, err := w.primaries.Get(t.Context(), "a")
		w.must(err)
		a.Spec.Size = 2
		a, err = w.c.Primaries().Update(t.Context(), a)
		w.must(err)
		found, err := w.c.look(t.Context(), "a") // the informer has had no turn
		w.must(err)
		if found.object.Metadata.Revision != a.Metadata.Revision {
			w.Errorf("a pass would see revision %d, want %d", found.object.Metadata.Revision, a.Metadata.Revision)
		}
		w.rest()
		if _, err := w.c.look(t.Context(), "a"); err != nil || len(w.c.written) != 0 {
			w.Errorf("what was written is remembered although the copy has it: %v, %v", w.c.written, err)
		}
	})
}
