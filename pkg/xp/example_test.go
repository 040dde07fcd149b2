package xp_test

import (
	"context"
	"fmt"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/xp"
)

// A connecter that was written for crossplane-runtime makes clients of Moorage.
func ExampleAdapt() {
	connecter := xp.Adapt[resource.Managed](xp.ExternalConnectorFn(func(context.Context,
		resource.Managed) (xp.ExternalClient, error) {
		return xp.ExternalClientFns{
			ObserveFn: func(context.Context, resource.Managed) (managed.ExternalObservation, error) {
				return managed.ExternalObservation{ResourceExists: true}, nil
			},
			CreateFn: func(context.Context, resource.Managed) (xp.ExternalCreation, error) {
				return xp.ExternalCreation{ConnectionDetails: managed.ConnectionDetails{"password": []byte("generated")}}, nil
			},
		}, nil
	}))

	client, _ := connecter.Connect(context.Background(), &fake.Managed{})
	_ = client.Create(context.Background(), &fake.Managed{})
	seen, _ := client.Observe(context.Background(), &fake.Managed{})

	fmt.Printf("%s\n", seen.ConnectionDetails["password"])
	// Output: generated
}
