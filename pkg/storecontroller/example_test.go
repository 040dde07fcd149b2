package storecontroller_test

import (
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
	"github.com/moorage-dev/moorage/pkg/storecontroller"
)

// A partReconciler creates a part for each thing.
type partReconciler struct {
	controller *storecontroller.Controller[*storetest.Thing]
	parts      store.Store[*storetest.Thing]
	known      *store.Informer[*storetest.Thing]
	made       chan<- string
}

// Reconcile creates the part of a thing that has none.
func (r *partReconciler) Reconcile(ctx context.Context, key string, thing *storetest.Thing,
	found bool) (reconcile.Result, error) {
	if !found || len(r.known.ByIndex(storecontroller.OwnerIndex("thing"), key)) > 0 {
		return reconcile.Result{}, nil
	}
	part := storetest.NewThing(key+"-part", thing.Spec.Size)
	part.Metadata.Owners = []store.Owner{r.controller.Owner(thing)}
	part, err := r.parts.Create(ctx, part)
	if err == nil {
		r.made <- part.Metadata.Key
	}

	return reconcile.Result{}, err
}

// Example runs a controller without a manager and without Kubernetes, for things in one store and a part in another
// store for each thing. With a manager, New adds everything to it.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	things, parts := memory.New[*storetest.Thing]("things"), memory.New[*storetest.Thing]("parts")
	primary := store.NewInformer(things, store.InformerOptions{})
	secondary := store.NewInformer(parts, store.InformerOptions{})

	made := make(chan string, 1)
	reconciler := func(c *storecontroller.Controller[*storetest.Thing]) storecontroller.Reconciler[*storetest.Thing] {
		return &partReconciler{controller: c, parts: parts, known: secondary, made: made}
	}
	c, err := storecontroller.NewFunc(nil, "example", "thing", primary, reconciler, storecontroller.Options{},
		storecontroller.Owns(secondary))
	if err != nil {
		fmt.Println(err)

		return
	}
	for _, i := range c.Informers() {
		running.Go(func() { _ = i.Start(ctx) })
	}
	running.Go(func() { _ = c.Start(ctx) })

	_, _ = things.Create(ctx, storetest.NewThing("a", 1))
	fmt.Println("made", <-made)
	// Output: made a-part
}
