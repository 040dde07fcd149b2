package store_test

import (
	"context"
	"fmt"

	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// ExampleInformer reads its own writes from the cache.
func ExampleInformer() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	things := memory.New[*storetest.Thing]("things")
	informer := store.NewInformer(things, store.InformerOptions{})
	informer.AddIndex("size", func(t *storetest.Thing) []string { return []string{fmt.Sprint(t.Spec.Size)} })
	go func() { _ = informer.Start(ctx) }()

	_, _ = things.Create(ctx, storetest.NewThing("a", 1))
	last, _ := things.Create(ctx, storetest.NewThing("b", 2))
	if err := informer.WaitForSync(ctx); err != nil {
		panic(err)
	}
	_ = informer.WaitForRevision(ctx, last.Metadata.Revision)

	for _, thing := range informer.ByIndex("size", "2") {
		fmt.Println(thing.Metadata.Key)
	}
	// Output: b
}
