package storecontroller

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// A partReconciler creates a part for each thing. It calls methods of its controller.
type partReconciler struct {
	c     *Controller[*thing]
	parts store.Store[*thing]
}

func (k *partReconciler) Reconcile(ctx context.Context, key string, obj *thing, found bool) (reconcile.Result, error) {
	if !found {
		return reconcile.Result{}, nil
	}
	part := storetest.NewThing(key, obj.Spec.Size)
	part.Metadata.Owners = []store.Owner{k.c.Owner(obj)}
	_, err := k.parts.Create(ctx, part)

	return reconcile.Result{}, ignore(err, store.ErrAlreadyExists)
}

// TestNewFuncPassesController checks that build receives the controller that NewFunc returns.
func TestNewFuncPassesController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		things, parts := newMemory("things"), newMemory("parts")
		var given *Controller[*thing]
		c, err := NewFunc(nil, "things", "thing", store.NewInformer(things, store.InformerOptions{}),
			func(c *Controller[*thing]) Reconciler[*thing] {
				given = c

				return &partReconciler{c: c, parts: parts}
			}, Options{TypedOptions: skipNameValidation()}, Owns(store.NewInformer(parts, store.InformerOptions{})))
		if err != nil {
			t.Fatal(err)
		}
		if given == nil || given != c {
			t.Fatalf("the function was given %p, and %p was returned", given, c)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		for _, i := range c.Informers() {
			running.Go(func() { _ = i.Start(ctx) })
		}
		running.Go(func() { _ = c.Start(ctx) })
		if _, err := things.Create(ctx, storetest.NewThing("a", 1)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		part, err := parts.Get(ctx, "a")
		if err != nil || len(part.Metadata.Owners) != 1 || part.Metadata.Owners[0].Epoch != "0" {
			t.Errorf("the part is %+v, %v", part, err)
		}
	})
}

// TestNewFuncWithoutReconciler: NewFunc returns an error if there is no reconciler, so that the first pass does not
// panic.
func TestNewFuncWithoutReconciler(t *testing.T) {
	for name, build := range map[string]func(*Controller[*thing]) Reconciler[*thing]{
		"NoFunction": nil, "Nil": func(*Controller[*thing]) Reconciler[*thing] { return nil },
	} {
		_, err := NewFunc(nil, "things", "thing", store.NewInformer(newMemory("things"), store.InformerOptions{}), build,
			Options{TypedOptions: skipNameValidation()})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
