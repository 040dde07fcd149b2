// Package pass carries what one pass of a syncer knows to the functions that a
// plugin calls in it, through the context that it hands on anyway.
package pass

import (
	"context"
)

// A Pass is what writes within a pass need to know. It belongs to one goroutine.
type Pass struct {
	// FieldOwner is the field manager of writes to the host.
	FieldOwner string

	// Replace sends whole objects instead of applying what changed.
	Replace bool

	// Unconditional deletes whatever has the name.
	Unconditional bool

	// Gone, if it is set, confirms that the virtual object is gone, or returns an
	// error. It is set in a pass that did not find one.
	Gone func(ctx context.Context) error
}

type key struct{}

// With returns a context that carries the pass.
func With(ctx context.Context, p *Pass) context.Context { return context.WithValue(ctx, key{}, p) }

// From returns the pass that the context carries, or nil. Nil as a context carries
// none: tests make contexts by hand.
func From(ctx context.Context) *Pass {
	if ctx == nil {
		return nil
	}
	p, _ := ctx.Value(key{}).(*Pass)
	return p
}
