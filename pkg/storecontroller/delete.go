package storecontroller

import (
	"context"
	stderrors "errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Owns tells whether an object in Kubernetes is marked with the primary of that key, by
// the marks of the options. It does not tell of which store the primary was: one that came
// back after its store was lost owns what was made for it before. For objects in stores
// see Metadata.Owners.
func (c *Controller[T]) Owns(obj metav1.Object, key string) bool {
	owner, err := c.opts.Marks.Owner(obj)

	return err == nil && owner.Kind == c.kind && owner.Key == key
}

// DeleteWithPrimary lets the controller delete, when a primary was deleted, what is marked
// with it: of a dependency that Owns, OwnsKube or OwnsInformer made; New returns an error
// for any other, and for one without a client. It happens in the pass that finds the primary
// gone, before the Reconciler is told, and is tried again until it succeeds. Finalizers may
// keep the objects longer.
//
// Left alone is what GarbagePolicy.Unmarked leaves alone, what several own, and everything
// of a primary that was lost with its store. Without DeleteWithPrimary the Reconciler
// deletes, or the garbage collector does after two resyncs.
func DeleteWithPrimary(d Dependency) Dependency { return deleted{d} }

type deleted struct{ Dependency }

func (d deleted) bind(ctx context.Context, b binding) (bound, error) {
	out, err := d.Dependency.bind(ctx, b)
	if err != nil {
		return out, err
	}
	switch of := out.owned.(type) {
	case nil, evidence:
		return out, errors.Errorf("cannot delete what a controller does not own: DeleteWithPrimary of %T", d.Dependency)
	case informerOwned:
		if of.b.kube == nil {
			return out, errors.New("cannot delete objects in Kubernetes without a client: give a manager")
		}
	}
	out.deleted = true

	return out, nil
}

// deleteOwned deletes what was made for a primary that the store says is gone, where the
// dependency says so.
func (c *Controller[T]) deleteOwned(ctx context.Context, key string) error {
	if len(c.deleted) == 0 {
		return nil
	}
	now, err := c.now(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, o := range c.deleted {
		secondaries, err := o.ofOwner(ctx, key)
		if err != nil {
			return errors.Wrap(err, "cannot look for what is to be deleted with a primary")
		}
		for _, s := range secondaries {
			if s.going || s.remove == nil {
				continue
			}
			if !c.ofThisStore(now, s) {
				c.opts.Logger.Info("Leaving alone what does not say that its primary was in this store",
					"controller", c.name, "key", key, "object", s.id)

				continue
			}
			if err := c.remove(ctx, s); err != nil {
				failed = append(failed, err)
			}
		}
	}

	return stderrors.Join(failed...)
}
