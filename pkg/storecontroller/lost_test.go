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

// TestStoreMadeAnew: with the store its primaries are lost, not deleted. Nothing
// that was made for them is deleted, neither by a pass nor by the collector, until
// they are deleted by name.
func TestStoreMadeAnew(t *testing.T) {
	inWorld(t, Options{Resync: time.Hour}, func(w *world) { w.create("a", 1); w.create("b", 2); w.create("c", 3) }, func(w *world) {
		w.saw("a 1", "a 1", "b 2", "b 2", "c 3", "c 3")
		w.primaries.Recreate()
		w.create("b", 4)
		w.pass(time.Minute)
		w.saw("b 4")
		w.c.Enqueue("a")
		w.pass(5 * time.Hour)
		w.have("a", "b", "c")
		w.events.said(t, "Warning PrimaryLost")

		w.create("a", 5)
		w.must(w.primaries.Delete(t.Context(), "a"))
		w.pass(time.Minute)
		w.have("a", "b", "c") // the part says it is of the store that was lost
		w.informer.Release("c")
		w.pass(time.Minute)
		w.have("a", "b", "c")
	})
}

// TestStoreMadeAnewWhileAway: a controller that starts after the store was lost
// knows nothing but what the secondaries say.
func TestStoreMadeAnewWhileAway(t *testing.T) {
	inWorld(t, Options{Resync: time.Hour, Garbage: GarbagePolicy{Unmarked: true}}, func(w *world) {
		w.part("a", store.Owner{Kind: "thing", Key: "a", Epoch: "0", Revision: 1})
		w.primaries.Recreate()
	}, func(w *world) {
		w.pass(5 * time.Hour)
		w.saw()
		w.have("a")
	})
}

// TestStorePutBack: a store of an earlier time has lost what came later.
func TestStorePutBack(t *testing.T) {
	var restore func()
	inWorld(t, Options{Resync: time.Hour}, func(w *world) { w.create("a", 1); restore = w.primaries.Backup() }, func(w *world) {
		w.create("b", 2)
		w.rest()
		restore()
		w.pass(5 * time.Hour)
		w.have("a", "b")
	})
}

// part makes a part for an owner of which no controller knows.
func (w *world) part(key string, owners ...store.Owner) {
	w.Helper()
	part := storetest.NewThing(key, 1)
	part.Metadata.Owners = owners
	_, err := w.parts.Create(w.Context(), part)
	w.must(err)
}

// TestGarbage: what may be collected, and what not.
func TestGarbage(t *testing.T) {
	const epoch = "0" // that of a store in memory that was never made anew
	cases := map[string]struct {
		reason string
		policy GarbagePolicy
		owners []store.Owner
		stays  bool
		lost   bool
	}{
		"Gone":     {reason: "The owner was in this store, and is not any more.", owners: []store.Owner{{Kind: "thing", Key: "gone", Epoch: epoch, Revision: 1}}},
		"There":    {reason: "The owner is there.", owners: []store.Owner{{Kind: "thing", Key: "there", Epoch: epoch, Revision: 1}}, stays: true},
		"Foreign":  {reason: "The owner is of another kind.", owners: []store.Owner{{Kind: "other", Key: "gone", Epoch: epoch, Revision: 1}}, stays: true},
		"Epoch":    {reason: "The owner was in another store.", owners: []store.Owner{{Kind: "thing", Key: "gone", Epoch: "before", Revision: 1}}, stays: true, lost: true},
		"Rewound":  {reason: "The owner was in this store at a time that it has not reached again.", owners: []store.Owner{{Kind: "thing", Key: "gone", Epoch: epoch, Revision: 99}}, stays: true, lost: true},
		"Unmarked": {reason: "Of which store the owner was is not known.", owners: []store.Owner{{Kind: "thing", Key: "gone"}}, stays: true},
		"UnmarkedAllowed": {
			reason: "That is no reason where a store cannot be lost.", policy: GarbagePolicy{Unmarked: true}, owners: []store.Owner{{Kind: "thing", Key: "gone"}},
		},
		"Disabled": {reason: "Collecting is switched off.", policy: GarbagePolicy{Disabled: true}, owners: []store.Owner{{Kind: "thing", Key: "gone", Epoch: epoch, Revision: 1}}, stays: true},
		"Shared": {
			reason: "Another owner may need it.", stays: true,
			owners: []store.Owner{{Kind: "thing", Key: "gone", Epoch: epoch, Revision: 1}, {Kind: "thing", Key: "there", Epoch: epoch, Revision: 1}},
		},
		"Unreadable": {reason: "The owner cannot be decoded, and is there.", owners: []store.Owner{{Kind: "thing", Key: "bad", Epoch: epoch, Revision: 1}}, stays: true},
		"BadKey":     {reason: "No store can say whether there is such an owner.", owners: []store.Owner{{Kind: "thing", Key: "no key", Epoch: epoch, Revision: 1}}, stays: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{Resync: time.Hour, Garbage: tc.policy}, func(w *world) {
				w.lazy = true
				w.create("there", 1)
				w.must(w.primaries.Write("bad", []byte("{")))
				w.part("x", tc.owners...)
			}, func(w *world) {
				w.have("x") // a first pass only suspects
				w.pass(3 * time.Hour)
				if tc.stays {
					w.have("x")
					if tc.lost {
						w.events.said(t, "Warning PrimaryLost")
					} else {
						w.events.said(t)
					}

					return
				}
				w.have()
				w.events.said(t, "Normal GarbageCollected")
			})
		})
	}
}

// TestGarbageIsBounded: a pass deletes no more than the policy allows.
func TestGarbageIsBounded(t *testing.T) {
	inWorld(t, Options{Resync: time.Hour, Garbage: GarbagePolicy{MaxPerPass: 2}}, func(w *world) {
		w.lazy = true
		w.create("x", 1)
		for _, key := range []string{"a", "b", "c", "d", "e"} {
			w.part(key, store.Owner{Kind: "thing", Key: key, Epoch: "0", Revision: 1})
		}
	}, func(w *world) {
		for _, left := range []int{5, 3, 1, 0} {
			if got := len(w.secondary.Keys()); got != left {
				w.Errorf("%d parts are left, want %d", got, left)
			}
			w.pass(time.Hour)
		}
	})
}

// A stubborn store does not let go of what has the key.
type stubborn struct {
	*memory.Store[*thing]

	key    string
	yields atomic.Bool
}

func (s *stubborn) Delete(ctx context.Context, key string, o ...store.DeleteOption) error {
	if key == s.key && !s.yields.Load() {
		return errors.New("an admission webhook says no")
	}

	return s.Store.Delete(ctx, key, o...)
}

// TestGarbageThatStays: what cannot be deleted keeps nothing else from it, and is tried again.
func TestGarbageThatStays(t *testing.T) {
	for name, most := range map[string]int{"Default": 0, "OneAtATime": 1} {
		t.Run(name, func(t *testing.T) {
			parts := &stubborn{key: "a"}
			inWorld(t, Options{Resync: time.Hour, Garbage: GarbagePolicy{MaxPerPass: most}}, func(w *world) {
				w.lazy = true
				w.create("x", 1)
				parts.Store = w.parts
				w.secondary = store.NewInformer[*thing](parts, store.InformerOptions{Resync: time.Minute})
				for _, key := range []string{"a", "b"} {
					w.part(key, store.Owner{Kind: "thing", Key: key, Epoch: "0", Revision: 1})
				}
			}, func(w *world) {
				w.have("a", "b")
				w.pass(4 * time.Hour)
				w.have("a")
				w.events.said(t, "Normal GarbageCollected")
				parts.yields.Store(true)
				w.pass(2 * time.Hour)
				w.have()
				w.events.said(t, "Normal GarbageCollected", "Normal GarbageCollected")
			})
		})
	}
}

// TestGarbageThatChanged: what is not what was seen is not deleted.
func TestGarbageThatChanged(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.lazy = true }, func(w *world) {
		w.part("a", store.Owner{Kind: "thing", Key: "gone", Epoch: "0"})
		w.rest()
		found, err := w.c.owned[0].all(t.Context())
		if err != nil || len(found) != 1 {
			w.Fatalf("found %v, %v", found, err)
		}
		a, err := w.parts.Get(t.Context(), "a")
		w.must(err)
		a.Spec.Size = 9
		_, err = w.parts.Update(t.Context(), a)
		w.must(err)
		w.must(found[0].remove(t.Context()))
		w.have("a")
		w.rest()
		found, err = w.c.owned[0].all(t.Context())
		w.must(err)
		w.must(found[0].remove(t.Context()))
		w.have()
		w.must(found[0].remove(t.Context()))
	})
}
