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

// A controller without a manager, and without Kubernetes: things in one store, and
// for each of them a part in another. With a manager, New has it run everything.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	things, parts := memory.New[*storetest.Thing]("things"), memory.New[*storetest.Thing]("parts")
	primary := store.NewInformer(things, store.InformerOptions{})
	secondary := store.NewInformer(parts, store.InformerOptions{})

	var c *storecontroller.Controller[*storetest.Thing]
	made := make(chan string, 1)
	reconciler := func(ctx context.Context, key string, thing *storetest.Thing, found bool) (reconcile.Result, error) {
		if !found || len(secondary.ByIndex(storecontroller.OwnerIndex("thing"), key)) > 0 {
			return reconcile.Result{}, nil
		}
		part := storetest.NewThing(key+"-part", thing.Spec.Size)
		part.Metadata.Owners = []store.Owner{c.Owner(thing)}
		part, err := parts.Create(ctx, part)
		if err == nil {
			made <- part.Metadata.Key
		}

		return reconcile.Result{}, err
	}
	c, err := storecontroller.New(nil, "example", "thing", primary, storecontroller.ReconcilerFunc[*storetest.Thing](reconciler),
		storecontroller.Options{}, storecontroller.Owns(secondary))
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
