package storecontroller

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

func newMemory(name string) *memory.Store[*thing] { return memory.New[*thing](name) }

// TestStoreRecreated checks that if a store is deleted and created again, its primaries are lost and not deleted.
// Neither a pass nor the garbage collector deletes their secondaries until a primary is deleted by name.
func TestStoreRecreated(t *testing.T) {
	inWorld(t, Options{Resync: time.Hour}, func(w *world) { w.create("a", 1); w.create("b", 2); w.create("c", 3) },
		func(w *world) {
			w.expectPasses("a 1", "a 1", "b 2", "b 2", "c 3", "c 3")
			w.primaries.Recreate()
			w.create("b", 4)
			w.advance(time.Minute)
			w.expectPasses("b 4")
			w.c.Enqueue("a")
			w.advance(5 * time.Hour)
			w.expectParts("a", "b", "c")
			w.events.expect(t, "Warning PrimaryLost")

			w.create("a", 5)
			w.must(w.primaries.Delete(t.Context(), "a"))
			w.advance(time.Minute)
			w.expectParts("a", "b", "c") // the part has the epoch of the lost store
			w.informer.Release("c")
			w.advance(time.Minute)
			w.expectParts("a", "b", "c")
		})
}

// TestStoreRecreatedWhileStopped checks that a controller that starts after the store was lost knows that only from the
// marks of the secondaries.
func TestStoreRecreatedWhileStopped(t *testing.T) {
	inWorld(t, Options{Resync: time.Hour, Garbage: GarbagePolicy{Unmarked: true}}, func(w *world) {
		w.part("a", store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1})
		w.primaries.Recreate()
	}, func(w *world) {
		w.advance(5 * time.Hour)
		w.expectPasses()
		w.expectParts("a")
	})
}

// TestStoreRestoredFromBackup checks that a restored store has lost all later writes.
func TestStoreRestoredFromBackup(t *testing.T) {
	var restore func()
	inWorld(t, Options{Resync: time.Hour}, func(w *world) { w.create("a", 1); restore = w.primaries.Backup() },
		func(w *world) {
			w.create("b", 2)
			w.settle()
			restore()
			w.advance(5 * time.Hour)
			w.expectParts("a", "b")
		})
}

// part creates a part for owners that the controller does not know.
func (w *world) part(key string, owners ...store.Owner) {
	w.Helper()
	part := storetest.NewThing(key, 1)
	part.Metadata.Owners = owners
	_, err := w.parts.Create(w.Context(), part)
	w.must(err)
}

// TestGarbage checks which secondaries the garbage collector deletes.
func TestGarbage(t *testing.T) {
	const epoch = "0" // of a memory store that was never recreated
	cases := map[string]struct {
		reason string
		policy GarbagePolicy
		owners []store.Owner
		stays  bool
		lost   bool
	}{
		"Deleted": {reason: "The owner was in this store and was deleted.",
			owners: []store.Owner{{Kind: "thing", Key: "gone", Epoch: epoch, Revision: 1}}},
		"Exists": {reason: "The owner exists.",
			owners: []store.Owner{{Kind: "thing", Key: "there", Epoch: epoch, Revision: 1}}, stays: true},
		"Foreign": {reason: "The owner is of another kind.",
			owners: []store.Owner{{Kind: "other", Key: "gone", Epoch: epoch, Revision: 1}}, stays: true},
		"Epoch": {reason: "The owner was in another store.",
			owners: []store.Owner{{Kind: "thing", Key: "gone", Epoch: "before", Revision: 1}}, stays: true, lost: true},
		"Restored": {
			reason: "The owner has a revision that the restored store has not reached.", owners: []store.Owner{{Kind: "thing",
				Key: "gone", Epoch: epoch, Revision: 99}}, stays: true, lost: true,
		},
		"Unmarked": {reason: "The marks have no epoch.", owners: []store.Owner{{Kind: "thing", Key: "gone"}}, stays: true},
		"UnmarkedAllowed": {
			reason: "The policy allows marks without an epoch.", policy: GarbagePolicy{Unmarked: true},
			owners: []store.Owner{{Kind: "thing", Key: "gone"}},
		},
		"Disabled": {
			reason: "The garbage collector is disabled.", policy: GarbagePolicy{Disabled: true},
			owners: []store.Owner{{Kind: "thing", Key: "gone", Epoch: epoch, Revision: 1}}, stays: true,
		},
		"Shared": {
			reason: "The object has another owner.", stays: true,
			owners: []store.Owner{
				{Kind: "thing", Key: "gone", Epoch: epoch, Revision: 1}, {Kind: "thing", Key: "there", Epoch: epoch, Revision: 1},
			},
		},
		"Undecodable": {
			reason: "The owner exists, but cannot be decoded.", owners: []store.Owner{{Kind: "thing", Key: "bad", Epoch: epoch,
				Revision: 1}}, stays: true,
		},
		"BadKey": {reason: "The owner has an invalid key.",
			owners: []store.Owner{{Kind: "thing", Key: "no key", Epoch: epoch, Revision: 1}}, stays: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{Resync: time.Hour, Garbage: tc.policy}, func(w *world) {
				w.skipParts = true
				w.create("there", 1)
				w.must(w.primaries.Write("bad", []byte("{")))
				w.part("x", tc.owners...)
			}, func(w *world) {
				w.expectParts("x") // the first run only finds candidates
				w.advance(3 * time.Hour)
				if tc.stays {
					w.expectParts("x")
					if tc.lost {
						w.events.expect(t, "Warning PrimaryLost")
					} else {
						w.events.expect(t)
					}

					return
				}
				w.expectParts()
				w.events.expect(t, "Normal GarbageCollected")
			})
		})
	}
}

// TestGarbageMaxPerPass checks that one run deletes at most MaxPerPass objects.
func TestGarbageMaxPerPass(t *testing.T) {
	inWorld(t, Options{Resync: time.Hour, Garbage: GarbagePolicy{MaxPerPass: 2}}, func(w *world) {
		w.skipParts = true
		w.create("x", 1)
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			w.part(key, store.Owner{Kind: "thing", Key: key, Epoch: "0", Revision: 1})
		}
	}, func(w *world) {
		for _, left := range []int{5, 3, 1, 0} {
			if got := len(w.secondary.Keys()); got != left {
				w.Errorf("%d parts are left, want %d", got, left)
			}
			w.advance(time.Hour)
		}
	})
}

// An undeletable store rejects deletes of one key until deletable is set.
type undeletable struct {
	*memory.Store[*thing]

	key       string
	deletable atomic.Bool
}

func (s *undeletable) Delete(ctx context.Context, key string, o ...store.DeleteOption) error {
	if key == s.key && !s.deletable.Load() {
		return errors.New("an admission webhook says no")
	}

	return s.Store.Delete(ctx, key, o...)
}

// TestGarbageDeleteFails checks that a failed deletion is retried, and does not delay other deletions.
func TestGarbageDeleteFails(t *testing.T) {
	for name, most := range map[string]int{"Default": 0, "OneAtATime": 1} {
		t.Run(name, func(t *testing.T) {
			parts := &undeletable{key: "a"}
			inWorld(t, Options{Resync: time.Hour, Garbage: GarbagePolicy{MaxPerPass: most}}, func(w *world) {
				w.skipParts = true
				w.create("x", 1)
				parts.Store = w.parts
				w.secondary = store.NewInformer[*thing](parts, store.InformerOptions{Resync: time.Minute})
				for _, key := range []string{"a", "b"} {
					w.part(key, store.Owner{Kind: "thing", Key: key, Epoch: "0", Revision: 1})
				}
			}, func(w *world) {
				w.expectParts("a", "b")
				w.advance(4 * time.Hour)
				w.expectParts("a")
				w.events.expect(t, "Normal GarbageCollected")
				parts.deletable.Store(true)
				w.advance(2 * time.Hour)
				w.expectParts()
				w.events.expect(t, "Normal GarbageCollected", "Normal GarbageCollected")
			})
		})
	}
}

// TestGarbageDeletePreconditions checks that an object that has changed since it was observed is not deleted.
func TestGarbageDeletePreconditions(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.skipParts = true }, func(w *world) {
		w.part("a", store.Owner{Kind: "thing", Key: "gone", Epoch: "0"})
		w.settle()
		found, err := w.c.owned[0].listAll(t.Context())
		if err != nil || len(found) != 1 {
			w.Fatalf("found %v, %v", found, err)
		}
		a, err := w.parts.Get(t.Context(), "a")
		w.must(err)
		a.Spec.Size = 9
		_, err = w.parts.Update(t.Context(), a)
		w.must(err)
		w.must(found[0].remove(t.Context()))
		w.expectParts("a")
		w.settle()
		found, err = w.c.owned[0].listAll(t.Context())
		w.must(err)
		w.must(found[0].remove(t.Context()))
		w.expectParts()
		w.must(found[0].remove(t.Context()))
	})
}
