package storecontroller

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/store"
)

// Primaries returns the store of the primaries. Use it for all writes of primaries. The next reconcile then includes
// the write, even if the cache does not have it yet.
func (c *Controller[T]) Primaries() store.Store[T] { return trackedStore[T]{c.primary.Store(), c} }

// A trackedStore records the revision of each write in the controller.
type trackedStore[T store.Object] struct {
	store.Store[T]
	c *Controller[T]
}

// Create stores a new object.
func (w trackedStore[T]) Create(ctx context.Context, obj T) (T, error) {
	return w.c.recordWrite(w.Store.Create(ctx, obj))
}

// Update replaces everything except the status.
func (w trackedStore[T]) Update(ctx context.Context, obj T) (T, error) {
	return w.c.recordWrite(w.Store.Update(ctx, obj))
}

// UpdateStatus replaces the status.
func (w trackedStore[T]) UpdateStatus(ctx context.Context, obj T) (T, error) {
	return w.c.recordWrite(w.Store.UpdateStatus(ctx, obj))
}

// recordWrite stores the revision of a successful write.
func (c *Controller[T]) recordWrite(obj T, err error) (T, error) {
	if err == nil {
		m := obj.GetMetadata()
		c.mu.Lock()
		c.lastWrites[m.Key] = m.Revision
		c.mu.Unlock()
	}

	return obj, err
}

// includesLastWrite returns whether the revision is at least that of the controller's last write of the key.
func (c *Controller[T]) includesLastWrite(key string, revision uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if revision < c.lastWrites[key] {
		return false
	}
	delete(c.lastWrites, key)

	return true
}

// forgetWrite removes the recorded revision of a key.
func (c *Controller[T]) forgetWrite(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lastWrites, key)
}
