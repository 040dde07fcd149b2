package controllerruntime_test

import (
	"context"
	"fmt"
	"time"

	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
	"github.com/moorage-dev/moorage/pkg/storecontroller/controllerruntime"
)

type none = controllerruntime.None

// A Greeter is a controller of the older shape.
type Greeter struct {
	rt   *controllerruntime.ControllerRuntime[*storetest.Thing, none, none, none, none, none, none, none, none]
	stop chan struct{}
}

// Run runs the runtime.
func (g *Greeter) Run(threadiness int, stopCh <-chan struct{}, errCh chan<- error) {
	g.rt.Run(threadiness, stopCh, errCh)
}

// SyncHandler acts on one primary.
func (g *Greeter) SyncHandler(key string) error {
	fmt.Println("hello", key)
	close(g.stop) // one is enough here

	return nil
}

// HandleSecondary, GarbageSecondaries and Clean have nothing to do here.
func (g *Greeter) HandleSecondary(any) {}

// GarbageSecondaries has nothing to do.
func (g *Greeter) GarbageSecondaries() {}

// Clean says that it is over.
func (g *Greeter) Clean() { fmt.Println("bye") }

func Example() {
	things := memory.New[*storetest.Thing]("things")
	g := &Greeter{stop: make(chan struct{}), rt: controllerruntime.NewControllerRuntime[*storetest.Thing, none, none, none, none, none, none, none, none](
		"greeter", "thing", nil, things, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, 5*time.Minute)}
	g.rt.SetCustomController(g)
	_, _ = things.Create(context.Background(), storetest.NewThing("world", 1))

	g.Run(1, g.stop, make(chan error))
	// Output:
	// hello world
	// bye
}
