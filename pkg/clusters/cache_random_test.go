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
	storm = flag.Duration(
		"storm", 0, "how long TestCacheAtRandom goes on, half of it with either provider; never for less than 2,000 rounds")
)

const workers, rounds, names, revisions = 8, 2000, 5, 3

// The openConnections of a test are those that were made and not closed.
type openConnections struct {
	*testing.T

	mu   sync.Mutex
	open map[*int]bool
}

// build makes a connection.
func (b *openConnections) build(context.Context, Key, Input) (*int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := new(int)
	b.open[n] = true

	return n, nil
}

// close closes a connection.
func (b *openConnections) close(n *int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open[n] {
		b.Error("closed twice")
	}
	delete(b.open, n)
}

// isOpen reports whether a connection is open.
func (b *openConnections) isOpen(n *int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.open[n]
}

// A plainProvider is a cache that is neither an Acquirer nor a Notifier.
type plainProvider struct{ cache *Cache[*int] }

// Get returns the connection of the cache.
func (p plainProvider) Get(ctx context.Context, key Key) (*int, Revision, error) {
	return p.cache.Get(ctx, key)
}

// A forgetCounter counts how often a cluster was forgotten.
type forgetCounter struct{ begun, done atomic.Int64 }

// read returns the count, and whether no ForgetCluster runs concurrently.
func (o *forgetCounter) read() (int64, bool) {
	done := o.done.Load()
	begun := o.begun.Load()

	return begun, done == begun
}

// obtained is the connection of a cluster that a worker was given, empty if Refresh
// reported one and Get failed.
type obtained struct {
	ctx            context.Context //nolint:containedctx // of the lease
	rev            Revision
	forgotten      int64 // see obituary.quiet
	forgottenKnown bool
}

// A worker uses clusters for one object, and records the connections that it was given.
type worker struct {
	*testing.T

	user      User
	cache     *Cache[*int]
	leases    *Manager[*int]
	open      *openConnections
	forgotten map[Key]*forgetCounter
	obtained  map[Key]obtained
}

// reconcile does what a reconciler does with a cluster as it was read, possibly a stale
// read.
func (w *worker) reconcile(seen Ref) {
	change, err := w.leases.Refresh(w.Context(), w.user, seen)
	_, has := w.obtained[seen.Key]
	switch {
	case change != Unchanged && !has:
		w.Errorf("%v was told %s of a connection to %s that he was not given", w.user, change, seen.Key)
	case change != Unchanged:
		delete(w.obtained, seen.Key)
	case err == nil && !has:
		w.obtained[seen.Key] = obtained{}
	}
	alive, sure := w.forgotten[seen.Key].read()
	lease, err := w.leases.Get(w.Context(), w.user, seen)
	if err != nil {
		return
	}
	defer lease.Release()
	now := obtained{ctx: lease.Context, rev: lease.Revision, forgotten: alive, forgottenKnown: sure}
	w.checkSame(seen.Key, now)
	if !w.leases.endsNoLeases && !w.open.isOpen(lease.Client) {
		w.Error("a lease on what is closed")
	}
	w.obtained[seen.Key] = now
}

// checkSame compares the connection that the worker is given with the one before, unless
// the cluster was forgotten in between. Connections of a plain provider are compared by
// their revisions only.
func (w *worker) checkSame(key Key, now obtained) {
	before := w.obtained[key]
	known := before.ctx != nil && before.forgottenKnown && before.forgotten == w.forgotten[key].begun.Load()
	another := before.ctx != now.ctx
	if w.leases.endsNoLeases {
		another = before.rev != now.rev
	}
	if known && another {
		w.Errorf("%v was given another connection to %s, and not told", w.user, key)
	}
}

// step takes one step at random.
func (w *worker) step(random *rand.Rand, seen *Ref) {
	k := Key{Name: fmt.Sprint(random.IntN(names))}
	switch random.IntN(13) {
	case 0, 1:
		w.cache.Set(k, Input{Revision: Revision(fmt.Sprint(random.IntN(revisions)))})
	case 2:
		w.cache.Fail(k, errBoom)
	case 3:
		w.cache.Drop(k)
	case 4:
		w.forgotten[k].begun.Add(1)
		w.leases.ForgetCluster(k)
		w.forgotten[k].done.Add(1)
	case 5:
		w.leases.Forget(w.user)
		clear(w.obtained)
	case 6:
		w.reconcile(*seen)
	default:
		in, _ := w.cache.Known(k)
		*seen = Ref{Key: k, Revision: in.Revision}
		w.reconcile(*seen)
	}
}

// TestCacheAtRandom runs workers that use clusters while these are replaced, fail,
// return, are removed and forgotten. No lease is on a closed connection, every worker is
// notified once of each replacement, and at the end no connection is open and no cluster
// known. A plain provider cannot keep a connection in use from being closed. The seed
// determines the steps of each worker, but not the order in which the workers run.
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
		"Plain":  func(c *Cache[*int]) Provider[*int] { return plainProvider{c} },
	} {
		t.Run(name, func(t *testing.T) {
			b := &openConnections{T: t, open: map[*int]bool{}}
			c := NewCache(b.build, CacheOptions[*int]{Close: b.close})
			m := NewManager(provider(c))
			shift := newWorkerPool(t, b, c, m)
			shift.run()
			shift.checkEnd()
		})
	}
}

// A workerPool runs workers on the same clusters.
type workerPool []*worker

// newWorkerPool returns workers with one object each.
func newWorkerPool(t *testing.T, b *openConnections, c *Cache[*int], m *Manager[*int]) workerPool {
	t.Helper()
	gone := map[Key]*forgetCounter{}
	for n := range names {
		gone[Key{Name: fmt.Sprint(n)}] = &forgetCounter{}
	}
	var s workerPool
	for n := range workers {
		user := User{Kind: "App", Key: Key{Name: fmt.Sprint(n)}}
		s = append(s, &worker{T: t, user: user, cache: c, leases: m, open: b, forgotten: gone, obtained: map[Key]obtained{}})
	}

	return s
}

// run returns when all workers are done.
func (s workerPool) run() {
	var all sync.WaitGroup
	begun := time.Now()
	for n, w := range s {
		random := rand.New(rand.NewPCG(*seed, uint64(n)))
		all.Go(func() {
			seen := Ref{Key: Key{Name: "0"}}
			for done := 0; done < rounds || time.Since(begun) < *storm/2; done++ {
				w.step(random, &seen)
			}
		})
	}
	all.Wait()
}

// checkEnd verifies that at most one connection per cluster has leases, and that closing
// the cache ends them and removes all state.
func (s workerPool) checkEnd() {
	one := s[0]
	one.Helper()
	left := map[Key]context.Context{}
	for _, w := range s {
		for k, on := range w.obtained {
			if on.ctx == nil || on.ctx.Err() != nil {
				continue
			}
			if left[k] != nil && left[k] != on.ctx {
				one.Errorf("there are leases on two connections to %s", k)
			}
			left[k] = on.ctx
		}
	}
	one.cache.Close()
	for k := range one.forgotten {
		one.leases.ForgetCluster(k)
	}
	for k, on := range left {
		if on.Err() == nil {
			one.Errorf("a lease on %s has not ended", k)
		}
	}
	if len(one.open.open) != 0 {
		one.Errorf("%d connections were left open", len(one.open.open))
	}
	if users, known := len(one.leases.users)+len(one.leases.byCluster), len(one.cache.entries); users+known != 0 {
		one.Errorf("left: %d users, %d clusters", users, known)
	}
}
