package storecontroller

import (
	"context"
	stderrors "errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Owns reports whether the marks of an object in Kubernetes name the primary with the key. It ignores the epoch of the
// store. A primary that was restored after the loss of its store therefore owns the objects that were created for it
// before. For objects in stores see Metadata.Owners.
func (c *Controller[T]) Owns(obj metav1.Object, key string) bool {
	owner, err := c.opts.Marks.Owner(obj)

	return err == nil && owner.Kind == c.kind && owner.Key == key
}

// DeleteWithPrimary makes the controller delete the secondaries of a dependency when their primary was deleted. The
// dependency must be from Owns, OwnsKube or OwnsInformer. New returns an error for any other dependency, and for one in
// Kubernetes without a client. The controller deletes the secondaries in the reconcile that finds the primary deleted,
// before it calls the Reconciler. It retries until the deletion succeeds. Finalizers may delay the removal of the
// objects.
//
// The controller does not delete objects with several owners, nor any secondary of a primary that was lost with its
// store. It deletes objects whose marks have no epoch only if GarbagePolicy.Unmarked is set. Without DeleteWithPrimary,
// the Reconciler has to delete secondaries; otherwise the garbage collector deletes them after two resyncs.
func DeleteWithPrimary(d Dependency) Dependency { return deleteWithPrimary{d} }

// deleteWithPrimary is the dependency that DeleteWithPrimary returns.
type deleteWithPrimary struct{ Dependency }

func (d deleteWithPrimary) bind(ctx context.Context, b binding) (bound, error) {
	out, err := d.Dependency.bind(ctx, b)
	if err != nil {
		return out, err
	}
	switch lister := out.owned.(type) {
	case nil, evidence:
		return out, errors.Errorf("cannot delete objects that the controller does not own: DeleteWithPrimary of %T",
			d.Dependency)
	case informerLister:
		if lister.b.kube == nil {
			return out, errors.New("cannot delete objects in Kubernetes without a client: pass a manager")
		}
	}
	out.deletable = true

	return out, nil
}

// deleteOwned deletes the secondaries of a deleted primary whose dependency has DeleteWithPrimary.
func (c *Controller[T]) deleteOwned(ctx context.Context, key string) error {
	if len(c.deletable) == 0 {
		return nil
	}
	state, err := c.storeState(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, o := range c.deletable {
		secondaries, err := o.listByOwner(ctx, key)
		if err != nil {
			return errors.Wrap(err, "cannot list the secondaries of a deleted primary")
		}
		for _, s := range secondaries {
			if s.deleting || s.remove == nil {
				continue
			}
			if !c.ownerInStore(state, s) {
				c.opts.Logger.Info("Keeping a secondary whose marks do not name this store",
					"controller", c.name, "key", key, "object", s.id)

				continue
			}
			if err := c.deleteSecondary(ctx, s); err != nil {
				failed = append(failed, err)
			}
		}
	}

	return stderrors.Join(failed...)
}
