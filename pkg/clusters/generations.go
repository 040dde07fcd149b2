package clusters

import (
	"context"
	"sync"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// maxAttempts is the maximum number of calls of a provider that returns a different revision each time.
const maxAttempts = 3

// A generations makes an Acquirer from a plain Provider. The leases on a revision end when the provider first returns
// another revision.
type generations[C any] struct {
	provider Provider[C]

	mu      sync.Mutex // guards the fields below; not held while the provider is called
	current map[Key]generation
	last    int // number of the last generation of any cluster
}

// A generation is the period during which a cluster has one revision.
type generation struct {
	number   int // from 1
	revision Revision
	ctx      context.Context //nolint:containedctx // of all leases of the revision
	cancel   context.CancelCauseFunc
}

// newGenerations returns generations of the provider.
func newGenerations[C any](p Provider[C]) *generations[C] {
	return &generations[C]{provider: p, current: map[Key]generation{}}
}

// Acquire calls the provider, and holds no lock during the call. A concurrent call may therefore have returned another
// revision. Acquire then calls the provider again to find out which revision is newer.
func (g *generations[C]) Acquire(ctx context.Context, key Key) (Lease[C], error) {
	for range maxAttempts {
		before := g.currentNumber(key)
		c, rev, err := g.provider.Get(ctx, key)
		if errors.Is(err, ErrNotFound) {
			g.endGeneration(key, before)
		}
		if err != nil {
			return Lease[C]{}, err
		}
		if now, ok := g.start(key, rev, before); ok {
			return Lease[C]{Client: c, Revision: rev, Context: now.ctx}, nil
		}
	}

	return Lease[C]{}, ErrStale
}

// currentNumber returns the number of the current generation of a cluster, or 0 if there is none.
func (g *generations[C]) currentNumber(key Key) int {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.current[key].number
}

// start starts a generation for the revision, unless the current generation has this revision. It returns false if the
// revision may be older than the revision of the current generation.
func (g *generations[C]) start(key Key, rev Revision, before int) (generation, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, ok := g.current[key]
	switch {
	case ok && now.revision == rev:
		return now, true
	case now.number != before:
		return generation{}, false
	case ok:
		now.cancel(ErrReplaced)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	g.last++
	now = generation{number: g.last, revision: rev, ctx: ctx, cancel: cancel}
	g.current[key] = now

	return now, true
}

// endGeneration ends a generation if it is still the current generation. Without this check, a stale response that the
// cluster does not exist could end a newer generation.
func (g *generations[C]) endGeneration(key Key, number int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now, ok := g.current[key]; ok && now.number == number {
		now.cancel(ErrReplaced)
		delete(g.current, key)
	}
}

// forget ends the current generation of a cluster.
func (g *generations[C]) forget(key Key) { g.endGeneration(key, g.currentNumber(key)) }
