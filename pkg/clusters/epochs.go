package clusters

import (
	"context"
	"sync"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// tries is how often a provider is asked that says something else each time.
const tries = 3

// Epochs make leases out of what a plain Provider says: those on a revision end when
// it is first seen to have another one.
type epochs[C any] struct {
	provider Provider[C]

	mu      sync.Mutex // guards what follows; not held while the provider is called
	current map[Key]epoch
	begun   int
}

// An epoch is the time of one revision.
type epoch struct {
	number   int // from 1
	revision Revision
	ctx      context.Context //nolint:containedctx // of all leases of the revision
	end      context.CancelCauseFunc
}

func newEpochs[C any](p Provider[C]) *epochs[C] {
	return &epochs[C]{provider: p, current: map[Key]epoch{}}
}

// Acquire asks the provider. Since it does so without a lock, another answer may have
// come in between; which of two that differ is the newer one is found out by asking
// again.
func (e *epochs[C]) Acquire(ctx context.Context, key Key) (Lease[C], error) {
	for range tries {
		before := e.number(key)
		c, rev, err := e.provider.Get(ctx, key)
		if errors.Is(err, ErrNotFound) {
			e.leave(key, before)
		}
		if err != nil {
			return Lease[C]{}, err
		}
		if now, ok := e.enter(key, rev, before); ok {
			return Lease[C]{Client: c, Revision: rev, Context: now.ctx}, nil
		}
	}

	return Lease[C]{}, ErrStale
}

// number tells the current epoch of a cluster from all others.
func (e *epochs[C]) number(key Key) int {
	e.mu.Lock()
	defer e.mu.Unlock()

	return e.current[key].number
}

// enter begins the epoch of a revision unless it is the current one. It reports false
// if the answer may be older than the current epoch.
func (e *epochs[C]) enter(key Key, rev Revision, before int) (epoch, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now, ok := e.current[key]
	switch {
	case ok && now.revision == rev:
		return now, true
	case now.number != before:
		return epoch{}, false
	case ok:
		now.end(ErrReplaced)
	}
	ctx, end := context.WithCancelCause(context.Background())
	e.begun++
	now = epoch{number: e.begun, revision: rev, ctx: ctx, end: end}
	e.current[key] = now

	return now, true
}

// leave ends an epoch, if it is still the current one: who says that the cluster is gone
// may have been overtaken, too.
func (e *epochs[C]) leave(key Key, number int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now, ok := e.current[key]; ok && now.number == number {
		now.end(ErrReplaced)
		delete(e.current, key)
	}
}

func (e *epochs[C]) forget(key Key) { e.leave(key, e.number(key)) }
