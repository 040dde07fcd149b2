package resource_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
)

func ExampleNewAPIFinalizer() {
	c := test.NewMockClient()
	c.MockPatch = func(_ context.Context, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
		body, err := patch.Data(obj)
		fmt.Println(string(body))
		obj.SetResourceVersion("8") // As the API server responds.

		return err
	}

	data := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "data", UID: "6f96", ResourceVersion: "7"}}

	f := resource.NewAPIFinalizer(c, "bucket.example.org")
	fmt.Println(f.AddFinalizer(context.Background(), data), data.ResourceVersion)
	fmt.Println(f.AddFinalizer(context.Background(), data)) // The object has it: nothing is sent.
	// Output:
	// {"metadata":{"uid":"6f96","resourceVersion":"7","finalizers":["bucket.example.org"]}}
	// <nil> 8
	// <nil>
}
