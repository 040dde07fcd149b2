package controller_test

import (
	"fmt"
	"time"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
)

// A provider derives the options from its flags once, for all of its controllers.
func Example() {
	o := controller.DefaultOptions()
	o.PollInterval = 5 * time.Minute
	o.MaxConcurrentReconciles = 10
	o.GlobalRateLimiter = ratelimiter.NewGlobal(10)

	fmt.Println(o.ForControllerRuntime().MaxConcurrentReconciles)
	// Output: 10
}
