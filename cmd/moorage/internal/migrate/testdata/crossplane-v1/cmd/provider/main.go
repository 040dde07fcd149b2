// Command provider runs the provider.
package main

import (
	"log"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/crossplane/crossplane-runtime/pkg/controller"
	"github.com/crossplane/crossplane-runtime/pkg/feature"
	"github.com/crossplane/crossplane-runtime/pkg/logging"
	"github.com/crossplane/crossplane-runtime/pkg/ratelimiter"

	"example.org/provider-role/apis/v1alpha1"
	"example.org/provider-role/internal/controller/config"
	"example.org/provider-role/internal/controller/role"
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
		Features:                &feature.Flags{},
	}

	o.Features.Enable(feature.EnableBetaManagementPolicies)

	if err := config.Setup(mgr, o); err != nil {
		log.Fatal(err)
	}

	if err := role.Setup(mgr, o); err != nil {
		log.Fatal(err)
	}

	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}
