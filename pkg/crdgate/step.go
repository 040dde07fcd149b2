package crdgate

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	retryBase = time.Second
	retryMax  = time.Minute

	// maxSleep is the maximum time between two steps. It limits the delay after a missed event.
	maxSleep = 10 * time.Minute
)

// A kind is the state of a kind. The lock of the gate guards it.
type kind struct {
	servedBy string // result of cluster.served; "" if the kind is not served or this is unknown
	usedBy   string // servedBy when the first function of the kind started; "" before that and after forgetKind
	gone     bool   // usedBy is gone; all functions have to end before the kind is forgotten
}

// An entry is a function and the kinds on which it depends. The first two fields never change. The lock of the gate
// guards the other fields.
type entry struct {
	kinds []schema.GroupVersionKind
	start StartFunc

	cancel    context.CancelFunc // not nil while it runs
	startedAt time.Time
	done      bool // it returned nil
	failures  int
	retryAt   time.Time // time of the next start
}

// name returns the names of the kinds.
func (e *entry) name() string {
	names := make([]string, len(e.kinds))
	for i, gvk := range e.kinds {
		names[i] = gvk.Kind + "." + gvk.Version + "." + gvk.Group
	}

	return strings.Join(names, ",")
}

// step starts and stops functions, and returns the time until the next step. The order matters: a function must not
// start while other functions that use the previous definition of its kind are still running.
func (g *Gate) step(ctx context.Context, running *sync.WaitGroup) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	for gvk, k := range g.kinds {
		g.refresh(gvk, k)
	}
	for _, e := range g.entries {
		if e.cancel != nil && g.anyKind(e, func(k *kind) bool { return k.gone }) {
			e.cancel()
		}
	}
	for gvk, k := range g.kinds {
		if k.gone && !g.inUse(gvk) {
			g.forgetKind(ctx, gvk, k)
		}
	}
	sleep := maxSleep
	for _, e := range g.entries {
		if e.cancel != nil || e.done || g.anyKind(e, func(k *kind) bool { return k.servedBy == "" || k.gone }) {
			continue
		}
		if wait := e.retryAt.Sub(g.clock.Now()); wait > 0 {
			sleep = min(sleep, wait)

			continue
		}
		g.launch(ctx, e, running)
	}

	return sleep
}

// refresh updates the state of a kind.
func (g *Gate) refresh(gvk schema.GroupVersionKind, k *kind) {
	by, known := g.cluster.served(gvk)
	if !known {
		return
	}
	k.servedBy = by
	switch {
	case k.usedBy == "" || k.usedBy == by:
	case k.usedBy == byDiscovery && by != "":
		k.usedBy = by // the same kind, now with its definition
	default:
		k.gone = true
	}
}

// anyKind reports whether a predicate holds for any kind of the entry.
func (g *Gate) anyKind(e *entry, is func(*kind) bool) bool {
	return slices.ContainsFunc(e.kinds, func(gvk schema.GroupVersionKind) bool { return is(g.kinds[gvk]) })
}

// inUse reports whether a function that depends on the kind is running.
func (g *Gate) inUse(gvk schema.GroupVersionKind) bool {
	return slices.ContainsFunc(g.entries, func(e *entry) bool {
		return e.cancel != nil &&
			slices.Contains(e.kinds, gvk)
	})
}

// forgetKind removes the informers of a kind that is gone. It resets the entries that depend on the kind.
func (g *Gate) forgetKind(ctx context.Context, gvk schema.GroupVersionKind, k *kind) {
	if err := g.cluster.removeInformers(ctx, gvk); err != nil {
		g.logger.Info("Cannot remove the informers of a kind that is gone", "kind", gvk.String(), "error", err)
	}
	k.usedBy, k.gone = "", false
	for _, e := range g.entries {
		if slices.Contains(e.kinds, gvk) {
			e.done, e.failures, e.retryAt = false, 0, time.Time{}
		}
	}
}

// launch runs the function of an entry in a goroutine.
func (g *Gate) launch(ctx context.Context, e *entry, running *sync.WaitGroup) {
	ctx, e.cancel = context.WithCancel(ctx)
	e.startedAt = g.clock.Now()
	for _, gvk := range e.kinds {
		g.kinds[gvk].usedBy = g.kinds[gvk].servedBy
	}
	g.logger.Debug("Starting a function that depends on served kinds", "kinds", e.name())
	running.Go(func() {
		err := g.run(ctx, e)
		g.recordEnd(ctx, e, err)
	})
}

// run calls the function of an entry after its kinds can be listed, because the API server serves a new definition with
// a delay. It returns a panic as an error.
func (g *Gate) run(ctx context.Context, e *entry) (err error) {
	defer func() {
		if v := recover(); v != nil {
			g.logger.Info("Panic in a function that depends on served kinds", "kinds", e.name(), "stack",
				string(debug.Stack()))
			err = errors.Errorf("panic: %s", redact.String(fmt.Sprint(v)))
		}
	}()
	for _, gvk := range e.kinds {
		if err := g.cluster.waitUntilListable(ctx, gvk); err != nil {
			return err
		}
	}

	return e.start(ctx)
}

// recordEnd records that the function of an entry has returned.
func (g *Gate) recordEnd(ctx context.Context, e *entry, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, stopped := g.clock.Now(), ctx.Err() != nil
	e.cancel()
	e.cancel = nil
	switch {
	case stopped:
		g.logger.Debug("Stopped a function that depends on kinds", "kinds", e.name(), "error", redact.Error(err))
	case err == nil:
		e.done = true
		g.logger.Debug("A function that depends on served kinds is done", "kinds", e.name())
	default:
		if now.Sub(e.startedAt) >= retryMax {
			e.failures = 0
		}
		wait := min(retryBase<<min(e.failures, 10), retryMax)
		e.failures++
		e.retryAt = now.Add(wait)
		g.logger.Info("Cannot run a function that depends on served kinds, will retry",
			"kinds", e.name(), "error", redact.Error(err), "after", wait.String())
	}
	g.wakeUp()
}
