package remote_test

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/remote"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A pass acquires a lease on the connection to the cluster of its object, and releases it.
func Example() {
	cache := clusters.NewCache(func(context.Context, clusters.Key, clusters.Input) (*clusters.Cluster, error) {
		return clusters.New("east"), nil
	}, clusters.CacheOptions[*clusters.Cluster]{Close: func(c *clusters.Cluster) { fmt.Println("closed", c.ID()) }})
	east := client.ObjectKey{Name: "east"}
	cache.Set(east, clusters.Input{Revision: "1"})
	c := remote.NewConnector(clusters.NewManager(cache), "App",
		func(context.Context, *fake.Managed) (clusters.Ref, error) {
			return clusters.Ref{Key: east, Revision: "1"}, nil
		},
		func(c *clusters.Cluster, _ *fake.Managed) managed.TypedExternalClient[*fake.Managed] {
			fmt.Println("work in", c.ID())

			return managed.TypedExternalClientFns[*fake.Managed]{}
		})
	ctx := context.Background()
	x, err := c.Connect(ctx, &fake.Managed{})
	if err != nil {
		fmt.Println(err)

		return
	}
	cache.Close()
	fmt.Println("the pass ends")
	if d, ok := x.(managed.ExternalDisconnecter); ok {
		fmt.Println(d.Disconnect(ctx))
	}
	// Output:
	// work in east
	// the pass ends
	// closed east
	// <nil>
}
