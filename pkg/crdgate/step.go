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

	// idle is how long the loop sleeps when nobody wakes it: for a change that
	// was missed, which is not supposed to happen.
	idle = 10 * time.Minute
)

// A kind is what the gate knows of one. Guarded by the gate's lock.
type kind struct {
	now  string // what serves it, "" if nothing does or that is not known
	by   string // what served it when somebody began to use it, until it is forgotten
	lost bool   // by is no more; everybody who uses it has to end before it is forgotten
}

// An entry is a function with the kinds it depends on. Guarded by the gate's lock,
// but for the first two, which never change.
type entry struct {
	kinds []schema.GroupVersionKind
	start StartFunc

	cancel   context.CancelFunc // not nil while it runs
	began    time.Time
	done     bool // returned nil
	failures int
	next     time.Time // not before
}

func (e *entry) name() string {
	names := make([]string, len(e.kinds))
	for i, gvk := range e.kinds {
		names[i] = gvk.Kind + "." + gvk.Version + "." + gvk.Group
	}

	return strings.Join(names, ",")
}

// step does what can be done now, and returns how long to sleep unless woken. The
// order matters: nothing starts on a kind that others have still to leave.
func (g *Gate) step(ctx context.Context, running *sync.WaitGroup) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	for gvk, k := range g.kinds {
		g.look(gvk, k)
	}
	for _, e := range g.entries {
		if e.cancel != nil && g.any(e, func(k *kind) bool { return k.lost }) {
			e.cancel()
		}
	}
	for gvk, k := range g.kinds {
		if k.lost && !g.used(gvk) {
			g.forget(ctx, gvk, k)
		}
	}
	sleep := idle
	for _, e := range g.entries {
		if e.cancel != nil || e.done || g.any(e, func(k *kind) bool { return k.now == "" || k.lost }) {
			continue
		}
		if wait := e.next.Sub(g.clock.Now()); wait > 0 {
			sleep = min(sleep, wait)

			continue
		}
		g.launch(ctx, e, running)
	}

	return sleep
}

func (g *Gate) look(gvk schema.GroupVersionKind, k *kind) {
	by, known := g.world.served(gvk)
	if !known {
		return
	}
	k.now = by
	switch {
	case k.by == "" || k.by == by:
	case k.by == byDiscovery && by != "":
		k.by = by // the same, known better
	default:
		k.lost = true
	}
}

func (g *Gate) any(e *entry, is func(*kind) bool) bool {
	return slices.ContainsFunc(e.kinds, func(gvk schema.GroupVersionKind) bool { return is(g.kinds[gvk]) })
}

func (g *Gate) used(gvk schema.GroupVersionKind) bool {
	return slices.ContainsFunc(g.entries, func(e *entry) bool { return e.cancel != nil && slices.Contains(e.kinds, gvk) })
}

func (g *Gate) forget(ctx context.Context, gvk schema.GroupVersionKind, k *kind) {
	if err := g.world.forget(ctx, gvk); err != nil {
		g.logger.Info("Cannot forget a kind that is gone", "kind", gvk.String(), "error", err)
	}
	k.by, k.lost = "", false
	for _, e := range g.entries {
		if slices.Contains(e.kinds, gvk) {
			e.done, e.failures, e.next = false, 0, time.Time{}
		}
	}
}

func (g *Gate) launch(ctx context.Context, e *entry, running *sync.WaitGroup) {
	ctx, e.cancel = context.WithCancel(ctx)
	e.began = g.clock.Now()
	for _, gvk := range e.kinds {
		g.kinds[gvk].by = g.kinds[gvk].now
	}
	g.logger.Debug("Starting what depends on served kinds", "kinds", e.name())
	running.Go(func() {
		err := g.run(ctx, e)
		g.ended(ctx, e, err)
	})
}

// run calls start when its kinds can really be listed: the API server follows a
// definition with a little delay. It ends with an error if start panics.
func (g *Gate) run(ctx context.Context, e *entry) (err error) {
	defer func() {
		if v := recover(); v != nil {
			g.logger.Info("Panic in what depends on served kinds", "kinds", e.name(), "stack", string(debug.Stack()))
			err = errors.Errorf("panic: %s", redact.String(fmt.Sprint(v)))
		}
	}()
	for _, gvk := range e.kinds {
		if err := g.world.await(ctx, gvk); err != nil {
			return err
		}
	}

	return e.start(ctx)
}

// ended notes that start has returned, and why.
func (g *Gate) ended(ctx context.Context, e *entry, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, stopped := g.clock.Now(), ctx.Err() != nil
	e.cancel()
	e.cancel = nil
	switch {
	case stopped:
		g.logger.Debug("Stopped what depends on kinds", "kinds", e.name(), "error", redact.Error(err))
	case err == nil:
		e.done = true
		g.logger.Debug("What depends on served kinds is done", "kinds", e.name())
	default:
		if now.Sub(e.began) >= retryMax {
			e.failures = 0
		}
		wait := min(retryBase<<min(e.failures, 10), retryMax)
		e.failures++
		e.next = now.Add(wait)
		g.logger.Info("Cannot run what depends on served kinds, will try again",
			"kinds", e.name(), "error", redact.Error(err), "after", wait.String())
	}
	g.poke()
}
