package crdgate_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/crdgate"
)

// A controller that runs while its kind is served.
func ExampleGate() {
	m, err := ctrl.NewManager(&rest.Config{Host: "https://kubernetes.example.org"}, ctrl.Options{Scheme: scheme})
	if err != nil {
		fmt.Println(err)

		return
	}
	gate, err := crdgate.New(m)
	if err != nil {
		fmt.Println(err)

		return
	}
	if err := m.Add(gate); err != nil {
		fmt.Println(err)

		return
	}
	bucket := group.WithKind("Bucket")
	gate.Add([]schema.GroupVersionKind{bucket}, func(ctx context.Context) error {
		return crdgate.RunController(ctx, m, "bucket", controller.Options{
			Reconciler: reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
				return reconcile.Result{}, nil
			}),
		}, func(c cache.Cache) []source.Source {
			return []source.Source{source.Kind(c, client.Object(&Bucket{}), &handler.EnqueueRequestForObject{})}
		})
	})
	// m.Start(ctx) runs it all. Before, nothing is known:
	fmt.Println("absent:", gate.Absent(bucket))
	// Output: absent: false
}
