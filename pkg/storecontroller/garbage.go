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

// ReasonGarbageCollected is the reason of the event about a secondary that was deleted because its primary was
// deleted.
const ReasonGarbageCollected event.Reason = "GarbageCollected"

// collectGarbage deletes secondaries of deleted primaries that no reconcile has deleted, because the deletion was
// missed or the reconcile failed permanently. A secondary is a candidate in one run, and is deleted in the next. It
// stays a candidate while its deletion fails.
func (c *Controller[T]) collectGarbage(ctx context.Context) error {
	if c.opts.Garbage.Disabled || len(c.owned) == 0 {
		return nil
	}
	state, err := c.storeState(ctx)
	if err != nil {
		return err
	}
	all, err := c.secondaries(ctx)
	if err != nil {
		return err
	}
	var failed []error
	suspects, budget := map[string]int{}, c.opts.Garbage.MaxPerPass
	for _, s := range all {
		orphan, err := c.isOrphan(ctx, state, s)
		if err != nil {
			return err
		}
		if !orphan {
			continue
		}
		failures, known := c.suspects[s.id]
		if !known || budget == 0 {
			suspects[s.id] = failures

			continue
		}
		budget--
		if err := c.deleteSecondary(ctx, s); err != nil {
			suspects[s.id] = failures + 1
			failed = append(failed, err)
		}
	}
	c.suspects = suspects

	return stderrors.Join(failed...)
}

// secondaries returns all secondaries, sorted by the number of failed deletions. Objects that cannot be deleted thus do
// not use up the budget of the others.
func (c *Controller[T]) secondaries(ctx context.Context) ([]secondary, error) {
	var out []secondary
	for _, o := range c.owned {
		all, err := o.listAll(ctx)
		if err != nil {
			return nil, errors.Wrap(err, "cannot list the secondaries")
		}
		out = append(out, all...)
	}
	slices.SortStableFunc(out, func(a, b secondary) int { return cmp.Compare(c.suspects[a.id], c.suspects[b.id]) })

	return out, nil
}

// isOrphan returns whether the primary of a secondary was deleted. Only a live read of the store confirms a deletion,
// and only if the store that held the primary was not replaced.
func (c *Controller[T]) isOrphan(ctx context.Context, state store.State, s secondary) (bool, error) {
	if s.deleting || s.remove == nil {
		return false, nil
	}
	if exists, held := c.primary.Has(s.owner.Key); exists || held {
		return false, nil
	}
	if !store.ValidKey(s.owner.Key) {
		return false, nil
	}
	if !c.ownerInStore(state, s) {
		c.opts.Logger.Info("Keeping a secondary whose marks do not name this store",
			"controller", c.name, "key", s.owner.Key, "object", s.id, "epoch", s.owner.Epoch)

		return false, nil
	}
	_, err := c.primary.Store().Get(ctx, s.owner.Key)
	if errors.Is(err, store.ErrNotFound) {
		// NotFound is valid only if this is still the store that the informer follows.
		_, err := c.storeState(ctx)

		return err == nil, err
	}
	if errors.Is(err, store.ErrUndecodable) {
		return false, nil
	}

	return false, errors.Wrap(err, "cannot read the primary of a garbage candidate")
}

// ownerInStore returns whether the primary of a secondary was in this store. If the marks have no epoch, it returns
// what GarbagePolicy.Unmarked allows.
func (c *Controller[T]) ownerInStore(state store.State, s secondary) bool {
	if s.owner.Epoch == "" {
		return c.opts.Garbage.Unmarked
	}

	return wasInStore(state, s.owner)
}

// deleteSecondary deletes a secondary, logs it and records an event.
func (c *Controller[T]) deleteSecondary(ctx context.Context, s secondary) error {
	if err := s.remove(ctx); err != nil {
		return errors.Wrapf(err, "cannot delete %s", s.id)
	}
	c.opts.Logger.Info("Deleted a secondary whose primary was deleted", "controller", c.name,
		"key", s.owner.Key, "object", s.id)
	c.event(s.owner.Key, s.owner.UID,
		event.Normal(ReasonGarbageCollected, "Deleted "+s.id+" because its primary was deleted"))

	return nil
}
