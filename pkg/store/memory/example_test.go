package memory_test

import (
	"context"
	"fmt"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
)

// A Link is an object for a store.
type Link struct {
	Metadata store.Metadata `json:"metadata"`
	Spec     struct {
		Target string `json:"target"`
	} `json:"spec"`
}

// GetMetadata returns the metadata.
func (l *Link) GetMetadata() *store.Metadata { return &l.Metadata }

// Example shows that an update of a stale object is a conflict.
func Example() {
	ctx := context.Background()
	links := memory.New[*Link]("links")

	link := &Link{Metadata: store.Metadata{Key: "ns/home"}}
	link.Spec.Target = "a.example"
	mine, _ := links.Create(ctx, link)
	yours, _ := links.Get(ctx, "ns/home")

	mine.Spec.Target = "b.example"
	mine, _ = links.Update(ctx, mine)
	yours.Spec.Target = "c.example"
	_, err := links.Update(ctx, yours)

	fmt.Println(mine.Spec.Target, "in generation", mine.Metadata.Generation)
	fmt.Println("conflict:", errors.Is(err, store.ErrConflict))
	// Output:
	// b.example in generation 2
	// conflict: true
}
