package storecontroller

import (
	"cmp"
	"context"
	stderrors "errors"
	"slices"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/store"
)

// ReasonGarbageCollected: an object was deleted because the primary it was made
// for is gone.
const ReasonGarbageCollected event.Reason = "GarbageCollected"

// collect deletes what was made for primaries that are gone, and that a pass over
// the primary did not delete: because it was missed, or because it failed for
// good. What is suspected in one pass is deleted in the next, or stays suspected if it
// cannot be.
func (c *Controller[T]) collect(ctx context.Context) error {
	if c.opts.Garbage.Disabled || len(c.owned) == 0 {
		return nil
	}
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	all, err := c.secondaries(ctx)
	if err != nil {
		return err
	}
	var failed []error
	suspects, left := map[string]int{}, c.opts.Garbage.MaxPerPass
	for _, s := range all {
		orphan, err := c.orphan(ctx, now, s)
		if err != nil {
			return err
		}
		if !orphan {
			continue
		}
		failures, known := c.suspects[s.id]
		if !known || left == 0 {
			suspects[s.id] = failures

			continue
		}
		left--
		if err := c.remove(ctx, s); err != nil {
			suspects[s.id] = failures + 1
			failed = append(failed, err)
		}
	}
	c.suspects = suspects

	return stderrors.Join(failed...)
}

// secondaries returns all that are owned. What could not be deleted most often comes
// last, so that it does not take the turn of what can be.
func (c *Controller[T]) secondaries(ctx context.Context) ([]secondary, error) {
	var out []secondary
	for _, o := range c.owned {
		all, err := o.all(ctx)
		if err != nil {
			return nil, errors.Wrap(err, "cannot list what is owned")
		}
		out = append(out, all...)
	}
	slices.SortStableFunc(out, func(a, b secondary) int { return cmp.Compare(c.suspects[a.id], c.suspects[b.id]) })

	return out, nil
}

// orphan tells whether the primary of a secondary was deleted. Only the store
// itself can say so, and only if it is still the one that had the primary.
func (c *Controller[T]) orphan(ctx context.Context, now store.State, s secondary) (bool, error) {
	if s.going || s.remove == nil {
		return false, nil
	}
	if exists, held := c.primary.Has(s.owner.Key); exists || held {
		return false, nil
	}
	if !store.ValidKey(s.owner.Key) {
		return false, nil
	}
	if !c.ofThisStore(now, s) {
		c.opts.Logger.Info("Leaving alone what was made for a primary that is not in the store",
			"controller", c.name, "key", s.owner.Key, "object", s.id, "epoch", s.owner.Epoch)

		return false, nil
	}
	_, err := c.primary.Store().Get(ctx, s.owner.Key)
	if errors.Is(err, store.ErrNotFound) {
		// The answer counts only if it was that of the store we know.
		_, err := c.now(ctx)

		return err == nil, err
	}
	if errors.Is(err, store.ErrUndecodable) {
		return false, nil
	}

	return false, errors.Wrap(err, "cannot ask for the primary of what may be garbage")
}

// ofThisStore tells whether the primary of a secondary was in the store as it is now, or
// whether the options take that for granted where it does not say so.
func (c *Controller[T]) ofThisStore(now store.State, s secondary) bool {
	if s.owner.Epoch == "" {
		return c.opts.Garbage.Unmarked
	}

	return of(now, s.owner)
}

func (c *Controller[T]) remove(ctx context.Context, s secondary) error {
	if err := s.remove(ctx); err != nil {
		return errors.Wrapf(err, "cannot delete %s", s.id)
	}
	c.opts.Logger.Info("Deleted what was made for a primary that is gone", "controller", c.name, "key", s.owner.Key, "object", s.id)
	c.event(s.owner.Key, s.owner.UID, event.Normal(ReasonGarbageCollected, "Deleted "+s.id+", which was made for what is gone"))

	return nil
}
