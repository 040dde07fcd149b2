package providerconfig

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Connect looks for the configuration of an object, in the object's own namespace.
func ExampleGet() {
	main := tenant("north", "main")
	main.Finalizers = []string{FinalizerName} // which Setup adds
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(main).Build()

	kinds := Kinds{Namespaced: &Tenant{}, Cluster: &ClusterTenant{}}
	config, err := Get(context.Background(), c, bucket("north", "data", "", "main"), kinds)
	if err == nil {
		fmt.Println("connect with", config.(*Tenant).Name)
	}
	_, err = Get(context.Background(), c, bucket("south", "data", "", "main"), kinds)
	fmt.Println(err, IsMissing(err))
	// Output:
	// connect with main
	// Tenant south/main does not exist true
}
