package clusters

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seed  = flag.Uint64("seed", 0, "of TestCacheAtRandom; 0 takes another one each time")
	storm = flag.Duration("storm", 0, "how long TestCacheAtRandom goes on, half of it with either provider; never for less than 2,000 rounds")
)

// What TestCacheAtRandom is made of.
const workers, rounds, names, revisions = 8, 2000, 5, 3

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

// Plainly is a cache of which nobody knows that it has leases.
type plainly struct{ cache *Cache[*int] }

func (p plainly) Get(ctx context.Context, key Key) (*int, Revision, error) {
	return p.cache.Get(ctx, key)
}

// An obituary counts how often a cluster was forgotten.
type obituary struct{ begun, done atomic.Int64 }

// quiet returns a number that stays the same until the cluster is forgotten, if it is not
// being forgotten just now.
func (o *obituary) quiet() (int64, bool) {
	done := o.done.Load()
	begun := o.begun.Load()

	return begun, done == begun
}

// Given is what a worker was given of a cluster: nothing if it was said to be there, and
// then was not.
type given struct {
	on    context.Context //nolint:containedctx // of the lease
	rev   Revision
	alive int64 // see obituary.quiet
	sure  bool
}

// A worker uses clusters for one object, and remembers what he has built on.
type worker struct {
	*testing.T

	user   User
	cache  *Cache[*int]
	leases *Manager[*int]
	books  *books
	gone   map[Key]*obituary
	built  map[Key]given
}

// works looks at a cluster, as a reconciler would, perhaps at what it was a moment ago.
func (w *worker) works(seen Ref) {
	change, err := w.leases.Refresh(w.Context(), w.user, seen)
	_, has := w.built[seen.Key]
	switch {
	case change != Unchanged && !has:
		w.Errorf("%v was told %s of a connection to %s that he was not given", w.user, change, seen.Key)
	case change != Unchanged:
		delete(w.built, seen.Key)
	case err == nil && !has:
		w.built[seen.Key] = given{}
	}
	alive, sure := w.gone[seen.Key].quiet()
	lease, err := w.leases.Get(w.Context(), w.user, seen)
	if err != nil {
		return
	}
	defer lease.Release()
	now := given{on: lease.Context, rev: lease.Revision, alive: alive, sure: sure}
	w.compares(seen.Key, now)
	if !w.leases.plain && !w.books.has(lease.Client) {
		w.Error("a lease on what is closed")
	}
	w.built[seen.Key] = now
}

// compares what the worker is given with what he was given before, unless that was forgotten
// with the cluster. Connections of a plain provider are told apart by their revisions alone.
func (w *worker) compares(key Key, now given) {
	before := w.built[key]
	known := before.on != nil && before.sure && before.alive == w.gone[key].begun.Load()
	another := before.on != now.on
	if w.leases.plain {
		another = before.rev != now.rev
	}
	if known && another {
		w.Errorf("%v was given another connection to %s, and not told", w.user, key)
	}
}

// acts does something at random.
func (w *worker) acts(random *rand.Rand, seen *Ref) {
	k := Key{Name: fmt.Sprint(random.IntN(names))}
	switch random.IntN(13) {
	case 0, 1:
		w.cache.Set(k, Input{Revision: Revision(fmt.Sprint(random.IntN(revisions)))})
	case 2:
		w.cache.Fail(k, errBoom)
	case 3:
		w.cache.Drop(k)
	case 4:
		w.gone[k].begun.Add(1)
		w.leases.ForgetCluster(k)
		w.gone[k].done.Add(1)
	case 5:
		w.leases.Forget(w.user)
		clear(w.built)
	case 6:
		w.works(*seen)
	default:
		in, _ := w.cache.Known(k)
		*seen = Ref{Key: k, Revision: in.Revision}
		w.works(*seen)
	}
}

// TestCacheAtRandom lets workers use clusters while these are replaced, fail, come back, go
// and are forgotten: no lease is on a connection that was closed, everybody is told once of
// what he was given, and in the end nothing is open or known. A plain provider cannot keep
// what is used from being closed. What each worker does is told by the seed, not in which
// order they do it.
func TestCacheAtRandom(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Cleanup(func() {
		if t.Failed() {
			fmt.Printf("go test ./pkg/clusters -run TestCacheAtRandom -seed %d\n", *seed)
		}
	})
	for name, provider := range map[string]func(*Cache[*int]) Provider[*int]{
		"Leases": func(c *Cache[*int]) Provider[*int] { return c },
		"Plain":  func(c *Cache[*int]) Provider[*int] { return plainly{c} },
	} {
		t.Run(name, func(t *testing.T) {
			b := &books{T: t, open: map[*int]bool{}}
			c := NewCache(b.make, CacheOptions[*int]{Close: b.close})
			m := NewManager(provider(c))
			shift := newShift(t, b, c, m)
			shift.work()
			shift.ends()
		})
	}
}

// A shift is workers at the same clusters.
type shift []*worker

func newShift(t *testing.T, b *books, c *Cache[*int], m *Manager[*int]) shift {
	t.Helper()
	gone := map[Key]*obituary{}
	for n := range names {
		gone[Key{Name: fmt.Sprint(n)}] = &obituary{}
	}
	var s shift
	for n := range workers {
		user := User{Kind: "Boat", Key: Key{Name: fmt.Sprint(n)}}
		s = append(s, &worker{T: t, user: user, cache: c, leases: m, books: b, gone: gone, built: map[Key]given{}})
	}

	return s
}

// work waits until all have done their part.
func (s shift) work() {
	var all sync.WaitGroup
	begun := time.Now()
	for n, w := range s {
		random := rand.New(rand.NewPCG(*seed, uint64(n)))
		all.Go(func() {
			seen := Ref{Key: Key{Name: "0"}}
			for done := 0; done < rounds || time.Since(begun) < *storm/2; done++ {
				w.acts(random, &seen)
			}
		})
	}
	all.Wait()
}

// ends sees that at most one lease on each cluster is left, and then none, nor anything else.
func (s shift) ends() {
	one := s[0]
	one.Helper()
	left := map[Key]context.Context{}
	for _, w := range s {
		for k, on := range w.built {
			if on.on == nil || on.on.Err() != nil {
				continue
			}
			if left[k] != nil && left[k] != on.on {
				one.Errorf("there are leases on two connections to %s", k)
			}
			left[k] = on.on
		}
	}
	one.cache.Close()
	for k := range one.gone {
		one.leases.ForgetCluster(k)
	}
	for k, on := range left {
		if on.Err() == nil {
			one.Errorf("a lease on %s has not ended", k)
		}
	}
	if len(one.books.open) != 0 {
		one.Errorf("%d connections were left open", len(one.books.open))
	}
	if users, known := len(one.leases.users)+len(one.leases.byCluster), len(one.cache.known); users+known != 0 {
		one.Errorf("left: %d users, %d clusters", users, known)
	}
}
