package sim

import (
	"context"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// quietly prevents apimachinery from printing the stack of each simulated crash. Real panics are still printed.
var quietly = sync.OnceFunc(func() {
	for i, handle := range utilruntime.PanicHandlers {
		utilruntime.PanicHandlers[i] = func(ctx context.Context, r any) {
			if _, simulated := r.(crash); !simulated {
				handle(ctx, r)
			}
		}
	}
})
