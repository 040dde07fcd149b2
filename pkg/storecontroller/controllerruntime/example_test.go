package controllerruntime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
	"github.com/moorage-dev/moorage/pkg/storecontroller/controllerruntime"
)

type none = controllerruntime.None

// A Greeter is a controller with the interface of the older library.
type Greeter struct {
	rt   *controllerruntime.ControllerRuntime[*storetest.Thing, none, none, none, none, none, none, none, none]
	stop chan struct{}
}

// Run runs the runtime.
func (g *Greeter) Run(threadiness int, stopCh <-chan struct{}, errCh chan<- error) {
	g.rt.Run(threadiness, stopCh, errCh)
}

// SyncHandler prints the key of a primary.
func (g *Greeter) SyncHandler(key string) error {
	fmt.Println("hello", key)
	close(g.stop) // one call is enough here

	return nil
}

// HandleSecondary does nothing.
func (g *Greeter) HandleSecondary(any) {}

// GarbageSecondaries does nothing.
func (g *Greeter) GarbageSecondaries() {}

// Clean prints the end.
func (g *Greeter) Clean() { fmt.Println("bye") }

func Example() {
	things := memory.New[*storetest.Thing]("things")
	g := &Greeter{stop: make(chan struct{}),
		rt: controllerruntime.NewControllerRuntime[*storetest.Thing, none, none, none, none, none, none, none, none](
			"greeter", "thing", nil, things, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, 5*time.Minute)}
	g.rt.SetCustomController(g)
	_, _ = things.Create(context.Background(), storetest.NewThing("world", 1))

	g.Run(1, g.stop, make(chan error))
	// Output:
	// hello world
	// bye
}

// A Copier creates a copy of each thing.
type Copier struct {
	rt             *controllerruntime.Runtime[*storetest.Thing]
	things, copies store.Store[*storetest.Thing]
	stop           chan struct{}
}

// Run runs the runtime.
func (c *Copier) Run(threadiness int, stopCh <-chan struct{}, errCh chan<- error) {
	c.rt.Run(threadiness, stopCh, errCh)
}

// SyncHandler creates the copy of a thing that has none.
func (c *Copier) SyncHandler(key string) error {
	thing, err := c.things.Get(context.Background(), key)
	if err != nil {
		return err
	}
	made := storetest.NewThing(key+"-copy", thing.Spec.Size)
	made.Metadata.Owners = []store.Owner{c.rt.Owner(thing)}
	_, err = c.copies.Create(context.Background(), made)

	return err
}

// HandleSecondary prints a copy that was created.
func (c *Copier) HandleSecondary(obj any) {
	if made, ok := obj.(*storetest.Thing); ok {
		fmt.Println("made", made.Metadata.Key, "for", made.Metadata.Owners[0].Key)
	}
	close(c.stop) // one call is enough here
}

// GarbageSecondaries does nothing.
func (c *Copier) GarbageSecondaries() {}

// Clean does nothing.
func (c *Copier) Clean() {}

// ExampleNewRuntime runs a controller of the older library with one type parameter and one dependency.
func ExampleNewRuntime() {
	things, copies := memory.New[*storetest.Thing]("things"), memory.New[*storetest.Thing]("copies")
	c := &Copier{things: things, copies: copies, stop: make(chan struct{})}
	c.rt = controllerruntime.NewRuntime("copier", "thing", nil, things, 5*time.Minute,
		controllerruntime.Secondaries(copies))
	c.rt.SetCustomController(c)
	_, _ = things.Create(context.Background(), storetest.NewThing("a", 1))

	c.Run(1, c.stop, make(chan error))
	// Output: made a-copy for a
}
