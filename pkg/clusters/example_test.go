package clusters_test

import (
	"context"
	"fmt"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// The reconciler of an object starts watches over a connection, and stops them when the
// connection is replaced.
func Example() {
	ctx := context.Background()
	cache := clusters.NewCache(func(_ context.Context, key clusters.Key, in clusters.Input) (string, error) {
		fmt.Printf("connect to %s, revision %s\n", key.Name, in.Revision)

		return "client of " + string(in.Revision), nil
	}, clusters.CacheOptions[string]{})
	defer cache.Close()
	manager := clusters.NewManager(cache)

	east, api := clusters.Key{Name: "east"}, clusters.User{Kind: "App", Key: clusters.Key{Name: "api"}}
	reconcile := func(revision clusters.Revision) {
		ref := clusters.Ref{Key: east, Revision: revision}
		if change, _ := manager.Refresh(ctx, api, ref); change != clusters.Unchanged {
			fmt.Println(change, "so stop the watches")
		}
		lease, err := manager.Get(ctx, api, ref)
		if err != nil {
			fmt.Println(err)

			return
		}
		defer lease.Release()
		fmt.Println("work with the", lease.Client)
	}

	reconcile("1")
	cache.Set(east, clusters.Input{Revision: "1"})
	reconcile("1")
	cache.Set(east, clusters.Input{Revision: "2"})
	reconcile("1")
	reconcile("2")
	// Output:
	// cluster client does not exist
	// connect to east, revision 1
	// work with the client of 1
	// connect to east, revision 2
	// cluster revision is stale
	// Replaced so stop the watches
	// work with the client of 2
}
