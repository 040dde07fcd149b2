package providerconfig

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Connect looks for the configuration of an object, in the object's own namespace.
func ExampleGet() {
	main := wharf("north", "main")
	main.Finalizers = []string{FinalizerName} // which Setup adds
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(main).Build()

	kinds := Kinds{Namespaced: &Wharf{}, Cluster: &ClusterWharf{}}
	config, err := Get(context.Background(), c, boat("north", "pearl", "", "main"), kinds)
	if err == nil {
		fmt.Println("connect with", config.(*Wharf).Name)
	}
	_, err = Get(context.Background(), c, boat("south", "pearl", "", "main"), kinds)
	fmt.Println(err, IsMissing(err))
	// Output:
	// connect with main
	// Wharf south/main does not exist true
}
