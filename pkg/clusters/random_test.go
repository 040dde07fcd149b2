package clusters

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

var seed = flag.Uint64("seed", 0, "of TestCacheAtRandom; 0 takes another one each time")

// An open connection is in the books from when it is made until it is closed.
type books struct {
	*testing.T

	mu   sync.Mutex
	open map[*int]bool
}

func (b *books) make(context.Context, Key, Input) (*int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := new(int)
	b.open[n] = true

	return n, nil
}

func (b *books) close(n *int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open[n] {
		b.Error("closed twice")
	}
	delete(b.open, n)
}

func (b *books) has(n *int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.open[n]
}

// A worker uses clusters for one object, and remembers what he has built on.
type worker struct {
	*testing.T

	user   User
	cache  *Cache[*int]
	leases *Manager[*int]
	books  *books
	built  map[Key]context.Context // of the lease, nil if it was said to be there, and then was not
}

// works looks at a cluster, as a reconciler would, perhaps at what it was a moment ago.
func (w *worker) works(seen Ref) {
	change, err := w.leases.Refresh(w.Context(), w.user, seen)
	_, given := w.built[seen.Key]
	switch {
	case change != Unchanged && !given:
		w.Errorf("%v was told %s of a connection to %s that he was not given", w.user, change, seen.Key)
	case change != Unchanged:
		delete(w.built, seen.Key)
	case err == nil && !given:
		w.built[seen.Key] = nil
	}
	lease, err := w.leases.Get(w.Context(), w.user, seen)
	if err != nil {
		return
	}
	defer lease.Release()
	if !w.books.has(lease.Client) {
		w.Error("a lease on what is closed")
	}
	if before := w.built[seen.Key]; before != nil && before != lease.Context {
		w.Errorf("%v was given another connection to %s, and not told", w.user, seen.Key)
	}
	w.built[seen.Key] = lease.Context
}

// TestCacheAtRandom lets workers use clusters while these are replaced, fail, come back and
// go: no lease is on a connection that was closed, everybody is told once of what he was
// given, and in the end nothing is open. What each worker does is told by the seed, not
// in which order they do it.
func TestCacheAtRandom(t *testing.T) {
	const workers, rounds, names, revisions = 8, 2000, 5, 3
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Cleanup(func() {
		if t.Failed() {
			fmt.Printf("go test ./pkg/clusters -run TestCacheAtRandom -seed %d\n", *seed)
		}
	})
	b := &books{T: t, open: map[*int]bool{}}
	c := NewCache(b.make, CacheOptions[*int]{Close: b.close})
	m := NewManager(c)
	var all sync.WaitGroup
	for n := range workers {
		random := rand.New(rand.NewPCG(*seed, uint64(n)))
		w := &worker{T: t, user: User{Kind: "Boat", Key: Key{Name: fmt.Sprint(n)}}, cache: c, leases: m, books: b, built: map[Key]context.Context{}}
		all.Go(func() {
			var seen Ref
			for range rounds {
				k := Key{Name: fmt.Sprint(random.IntN(names))}
				switch random.IntN(12) {
				case 0, 1:
					c.Set(k, Input{Revision: Revision(fmt.Sprint(random.IntN(revisions)))})
				case 2:
					c.Fail(k, errBoom)
				case 3:
					c.Drop(k)
				case 4:
					m.Forget(w.user)
					clear(w.built)
				case 5:
					w.works(seen)
				default:
					in, _ := c.Known(k)
					seen = Ref{Key: k, Revision: in.Revision}
					w.works(seen)
				}
			}
		})
	}
	all.Wait()
	c.Close()
	if len(b.open) != 0 {
		t.Errorf("%d connections were left open", len(b.open))
	}
}
