package ratelimiter_test

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/ratelimiter"
)

// A burst of ten requests passes at once; later ones are requeued.
func ExampleNew() {
	inner := reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	})
	r := ratelimiter.New("managed/stream", inner, ratelimiter.NewGlobal(1))

	for i := range 12 {
		req := reconcile.Request{NamespacedName: types.NamespacedName{Name: fmt.Sprintf("stream-%d", i)}}

		result, err := r.Reconcile(context.Background(), req)
		if err != nil {
			fmt.Println(err)
		}
		if result.RequeueAfter > 0 {
			fmt.Println(req.Name, "comes back in about", result.RequeueAfter.Round(time.Second))
		}
	}
	// Output:
	// stream-10 comes back in about 1s
	// stream-11 comes back in about 2s
}
