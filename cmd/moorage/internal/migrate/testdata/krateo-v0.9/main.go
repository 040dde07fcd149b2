// Command provider-bucket runs the provider.
package main

import (
	"log"
	"time"

	"github.com/krateoplatformops/provider-runtime/pkg/controller"
	"github.com/krateoplatformops/provider-runtime/pkg/logging"
	"github.com/krateoplatformops/provider-runtime/pkg/ratelimiter"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.org/provider-bucket/apis/v1alpha1"
	"example.org/provider-bucket/internal/bucket"
	"example.org/provider-bucket/internal/storage"
)

func main() {
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err != nil {
		log.Fatal(err)
	}

	if err := v1alpha1.AddToScheme(mgr.GetScheme()); err != nil {
		log.Fatal(err)
	}

	o := controller.Options{
		Logger:                  logging.NewNopLogger(),
		MaxConcurrentReconciles: 2,
		PollInterval:            time.Minute,
		GlobalRateLimiter:       ratelimiter.NewGlobal(10),
	}

	if err := bucket.Setup(mgr, o, &storage.Storage{}); err != nil {
		log.Fatal(err)
	}

	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
