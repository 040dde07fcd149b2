package test_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/test"
)

func ExampleMockClient() {
	c := test.NewMockClient()
	c.MockGet = test.NewMockGetFn(nil, func(o client.Object) error {
		o.SetLabels(map[string]string{"shard": "7"})

		return nil
	})
	c.MockUpdate = test.NewMockUpdateFn(nil, func(o client.Object) error {
		fmt.Println("written:", o.GetLabels())

		return nil
	})

	ctx, p := context.Background(), &corev1.Pod{}
	fmt.Println(c.Get(ctx, client.ObjectKey{Name: "data"}, p), p.GetLabels())

	// A patch is seen as an update with the object as it shall be.
	p.SetLabels(map[string]string{"shard": "8"})
	fmt.Println(c.Patch(ctx, p, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"shard":"8"}}}`))))
	// Output:
	// <nil> map[shard:7]
	// written: map[shard:8]
	// <nil>
}
