package storecontroller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/store"
)

// ReasonPrimaryLost: a primary is missing in its store, and it is the store that
// was lost. Its secondaries are left alone.
const ReasonPrimaryLost event.Reason = "PrimaryLost"

// pass is the reconciler that controller-runtime calls.
type pass[T store.Object] struct{ c *Controller[T] }

// Reconcile looks for the primary and hands it to the author's reconciler.
func (p pass[T]) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	c := p.c
	found, err := c.look(ctx, req.Key)
	if err != nil {
		return reconcile.Result{}, err
	}
	if found.what == unreadable {
		c.opts.Logger.Info("Skipping a primary that cannot be decoded", "controller", c.name, "key", req.Key)

		return reconcile.Result{}, nil
	}
	if found.what == lost {
		c.opts.Logger.Info("A primary is missing, and its store is not the one it was in: nothing is done", "controller", c.name, "key", req.Key)
		c.event(req.Key, "", event.Warning(ReasonPrimaryLost,
			errors.New("the object was lost together with its store; what was made for it is left alone until it comes back or is deleted by name")))

		return reconcile.Result{}, nil
	}
	if found.what == absent {
		if err := c.deleteOwned(ctx, req.Key); err != nil {
			return reconcile.Result{}, err
		}
	}
	result, err := c.reconciler.Reconcile(ctx, req.Key, found.object, found.what == present)
	if errors.Is(err, store.ErrConflict) || apierrors.IsConflict(err) {
		return reconcile.Result{Requeue: true}, nil //nolint:staticcheck // The only way to try again with back-off and without an error.
	}

	return result, err
}

// What is known of a primary.
type knowledge int

const (
	present knowledge = iota
	absent
	lost       // missing in a store that is not the one it was in
	unreadable // there, but not to be decoded
)

type finding[T store.Object] struct {
	what   knowledge
	object T
}

// look finds a primary in the copy of the store, unless that is older than what
// the controller has written itself. That one is missing is for the store to say.
func (c *Controller[T]) look(ctx context.Context, key string) (finding[T], error) {
	obj, ok := c.primary.Get(key)
	if ok && !c.primary.Undecodable(key) && c.recent(key, obj.GetMetadata().Revision) {
		obj, err := store.Clone(obj)

		return finding[T]{present, obj}, err
	}
	if _, held := c.primary.Has(key); held {
		return finding[T]{what: lost}, nil
	}
	obj, err := c.primary.Store().Get(ctx, key)
	switch {
	case err == nil:
		return finding[T]{present, obj}, nil
	case errors.Is(err, store.ErrUndecodable):
		return finding[T]{what: unreadable}, nil
	case !errors.Is(err, store.ErrNotFound):
		return finding[T]{}, errors.Wrap(err, "cannot ask for the primary")
	}
	c.forget(key)
	what, err := c.absent(ctx, key)

	return finding[T]{what: what}, err
}

// absent tells whether what the store does not have was deleted or lost, by the
// marks of what was made for it.
func (c *Controller[T]) absent(ctx context.Context, key string) (knowledge, error) {
	now, err := c.now(ctx)
	if err != nil {
		return lost, err
	}
	for _, o := range c.owned {
		secondaries, err := o.ofOwner(ctx, key)
		if err != nil {
			return lost, errors.Wrap(err, "cannot look for what was made for a primary that is missing")
		}
		for _, s := range secondaries {
			if s.owner.Epoch != "" && !of(now, s.owner) {
				return lost, nil
			}
		}
	}

	return absent, nil
}

// now returns the state of the store, which must be the one that is followed.
func (c *Controller[T]) now(ctx context.Context) (store.State, error) {
	now, err := c.primary.Store().State(ctx)
	if err != nil {
		return now, errors.Wrap(err, "cannot ask for the state of the store")
	}
	if known := c.primary.State(); now.Epoch != known.Epoch || now.Revision < known.Revision {
		return now, errors.Wrap(store.ErrReplaced, "cannot tell what is missing from what is lost")
	}

	return now, nil
}

// of tells whether an owner was in the store as it is now, or before: not in
// another one, nor in one that has been put back since.
func of(now store.State, owner store.Owner) bool {
	return owner.Epoch == now.Epoch && owner.Revision <= now.Revision
}
