package reconciler_test

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/reconciler"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test"
)

// A controller that imports the path of provider-runtime.
func Example() {
	mg := &fake.Managed{}
	m := &fake.Manager{Client: test.NewMockClient(), Scheme: fake.SchemeWith(mg)}

	observe := func(context.Context, resource.Managed) (reconciler.ExternalObservation, error) {
		fmt.Println("observed")

		return reconciler.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
	}
	connect := func(context.Context, resource.Managed) (reconciler.ExternalClient, error) {
		return reconciler.ExternalClientFns{ObserveFn: observe}, nil
	}

	r := reconciler.NewReconciler(m, resource.ManagedKind(fake.GVK(mg)),
		reconciler.WithExternalConnecter(reconciler.ExternalConnectorFn(connect)))

	_, err := r.Reconcile(context.Background(), reconcile.Request{})
	fmt.Println(reconciler.ControllerName("Stream"), err)
	// Output:
	// observed
	// managed/stream <nil>
}
