package storetest_test

import (
	"context"
	"fmt"

	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// ExampleNewThing stores a Thing, the object of the suite. Other tests may use it as well.
func ExampleNewThing() {
	things := memory.New[*storetest.Thing]("things")
	_, _ = things.Create(context.Background(), storetest.NewThing("a", 3))
	a, _ := things.Get(context.Background(), "a")
	fmt.Println(a.Metadata.Key, a.Spec.Size)
	// Output: a 3
}
