// Package passcontext stores values of one pass of a syncer in its context, so that
// functions that a plugin calls within the pass can read them.
package passcontext

import (
	"context"
)

// Values are the settings for writes within one pass. They are not safe for concurrent
// use.
type Values struct {
	// FieldOwner is the field manager of writes to the host.
	FieldOwner string

	// Replace makes updates send whole objects instead of patches and applies.
	Replace bool

	// Unconditional makes deletes of host objects have no preconditions.
	Unconditional bool

	// Gone returns nil if the virtual object does not exist, and an error if it exists or if its
	// absence cannot be confirmed. The field is nil in a pass that found the virtual object.
	Gone func(ctx context.Context) error
}

type key struct{}

// With returns a context that carries the values.
func With(ctx context.Context, p *Values) context.Context { return context.WithValue(ctx, key{}, p) }

// From returns the values that the context carries, or nil. It accepts a nil context,
// because tests create a SyncContext without one.
func From(ctx context.Context) *Values {
	if ctx == nil {
		return nil
	}
	p, _ := ctx.Value(key{}).(*Values)
	return p
}
