package storecontroller

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/store"
)

// Primaries returns the store of the primaries. What is written by way of it is
// what the next pass sees, even if the copy does not have it yet. Write primaries
// with it, and with nothing else.
func (c *Controller[T]) Primaries() store.Store[T] { return writes[T]{c.primary.Store(), c} }

type writes[T store.Object] struct {
	store.Store[T]
	c *Controller[T]
}

// Create stores a new object.
func (w writes[T]) Create(ctx context.Context, obj T) (T, error) {
	return w.c.wrote(w.Store.Create(ctx, obj))
}

// Update replaces all but the status.
func (w writes[T]) Update(ctx context.Context, obj T) (T, error) {
	return w.c.wrote(w.Store.Update(ctx, obj))
}

// UpdateStatus replaces the status.
func (w writes[T]) UpdateStatus(ctx context.Context, obj T) (T, error) {
	return w.c.wrote(w.Store.UpdateStatus(ctx, obj))
}

func (c *Controller[T]) wrote(obj T, err error) (T, error) {
	if err == nil {
		m := obj.GetMetadata()
		c.mu.Lock()
		c.written[m.Key] = m.Revision
		c.mu.Unlock()
	}

	return obj, err
}

// recent tells whether a revision has what the controller wrote last.
func (c *Controller[T]) recent(key string, revision uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if revision < c.written[key] {
		return false
	}
	delete(c.written, key)

	return true
}

func (c *Controller[T]) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.written, key)
}
