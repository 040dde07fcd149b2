package storecontroller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/freshness"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/store"
)

// ReasonPrimaryLost is the reason of the event about a primary that is missing because its store was lost. Its
// secondaries are kept.
const ReasonPrimaryLost event.Reason = "PrimaryLost"

// A pass is the reconciler that controller-runtime calls.
type pass[T store.Object] struct{ c *Controller[T] }

// Reconcile reads the primary and calls the Reconciler of the controller.
func (p pass[T]) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	c := p.c
	found, err := c.readPrimary(ctx, req.Key)
	if err != nil {
		return reconcile.Result{}, err
	}
	if found.state == primaryUndecodable {
		c.opts.Logger.Info("Skipping a primary that cannot be decoded", "controller", c.name, "key", req.Key)

		return reconcile.Result{}, nil
	}
	if found.state == primaryLost {
		c.opts.Logger.Info("Skipping a primary that was lost with its store", "controller", c.name, "key", req.Key)
		c.event(req.Key, "", event.Warning(ReasonPrimaryLost,
			errors.New("the object was lost with its store; "+
				"its secondaries are kept until it exists again or is deleted by name")))

		return reconcile.Result{}, nil
	}
	if found.state == primaryDeleted {
		if err := c.deleteOwned(ctx, req.Key); err != nil {
			return reconcile.Result{}, err
		}
	}
	result, err := c.reconciler.Reconcile(ctx, req.Key, found.object, found.state == primaryPresent)
	if errors.Is(err, store.ErrConflict) || apierrors.IsConflict(err) {
		return freshness.SilentRequeue(), nil
	}

	return result, err
}

// primaryState is the result of reading a primary.
type primaryState int

const (
	primaryPresent primaryState = iota
	primaryDeleted
	primaryLost        // missing, and the store is not the one that held it
	primaryUndecodable // stored, but cannot be decoded
)

// A primaryResult is the result of a read. It holds the object if the primary exists.
type primaryResult[T store.Object] struct {
	state  primaryState
	object T
}

// readPrimary reads a primary from the cache. It reads from the store if the cache does not include the last write of
// the controller, or does not have the primary.
func (c *Controller[T]) readPrimary(ctx context.Context, key string) (primaryResult[T], error) {
	obj, ok := c.primary.Get(key)
	if ok && !c.primary.Undecodable(key) && c.includesLastWrite(key, obj.GetMetadata().Revision) {
		obj, err := store.Clone(obj)

		return primaryResult[T]{primaryPresent, obj}, err
	}
	if _, held := c.primary.Has(key); held {
		return primaryResult[T]{state: primaryLost}, nil
	}
	obj, err := c.primary.Store().Get(ctx, key)
	switch {
	case err == nil:
		return primaryResult[T]{primaryPresent, obj}, nil
	case errors.Is(err, store.ErrUndecodable):
		return primaryResult[T]{state: primaryUndecodable}, nil
	case !errors.Is(err, store.ErrNotFound):
		return primaryResult[T]{}, errors.Wrap(err, "cannot read the primary")
	}
	c.forgetWrite(key)
	state, err := c.classifyMissing(ctx, key)

	return primaryResult[T]{state: state}, err
}

// classifyMissing uses the marks of the secondaries to distinguish a deleted primary from one that was lost with its
// store.
func (c *Controller[T]) classifyMissing(ctx context.Context, key string) (primaryState, error) {
	state, err := c.storeState(ctx)
	if err != nil {
		return primaryLost, err
	}
	for _, o := range c.owned {
		secondaries, err := o.listByOwner(ctx, key)
		if err != nil {
			return primaryLost, errors.Wrap(err, "cannot list the secondaries of a missing primary")
		}
		for _, s := range secondaries {
			if s.owner.Epoch != "" && !wasInStore(state, s.owner) {
				return primaryLost, nil
			}
		}
	}

	return primaryDeleted, nil
}

// storeState returns the current state of the store. It returns store.ErrReplaced if the store that the informer
// watches was replaced.
func (c *Controller[T]) storeState(ctx context.Context) (store.State, error) {
	state, err := c.primary.Store().State(ctx)
	if err != nil {
		return state, errors.Wrap(err, "cannot read the state of the store")
	}
	if known := c.primary.State(); state.Epoch != known.Epoch || state.Revision < known.Revision {
		return state, errors.Wrap(store.ErrReplaced, "cannot distinguish deleted primaries from lost ones")
	}

	return state, nil
}

// wasInStore returns whether the owner was in this store, at its current revision or before. It returns false if the
// owner was in another store, or at a revision that the store lost with a restored backup.
func wasInStore(state store.State, owner store.Owner) bool {
	return owner.Epoch == state.Epoch && owner.Revision <= state.Revision
}
