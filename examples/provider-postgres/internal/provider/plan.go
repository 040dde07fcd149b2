package provider

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/plan"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"

	kinds "github.com/moorage-dev/moorage/examples/provider-postgres/internal/controller"
)

// Plan returns this provider for the command that shows what it would change. The options are those of the
// provider that runs, as far as they matter for a decision. Config returns the access to the cluster.
func Plan(o Options, config func(kubeconfig string) (*rest.Config, error)) (plan.Provider, error) {
	scheme := runtime.NewScheme()

	all := runtime.NewSchemeBuilder(corev1.AddToScheme, kinds.AddToScheme)
	if err := all.AddToScheme(scheme); err != nil {
		return plan.Provider{}, errors.Wrap(err, "cannot register the kinds")
	}

	return plan.Provider{
		Name: Name, Version: version(),
		Config: func(kubeconfig string) (*rest.Config, error) {
			cfg, err := config(kubeconfig)
			if err != nil {
				return nil, err
			}

			cfg = ratelimiter.LimitRESTConfig(cfg, o.MaxReconcileRate)
			cfg.UserAgent = Name

			return cfg, nil
		},
		Manager: func(namespaces []string) manager.Options {
			of := o
			if len(namespaces) > 0 { // else those of the provider that runs
				of.Namespace = strings.Join(namespaces, ",")
			}

			return managerOptions(scheme, of)
		},
		Credentials: func(secret types.NamespacedName) { o.Connect.Credentials = secret },
		Setup:       func(ctx context.Context, m manager.Manager) error { return setup(ctx, m, o, nil) },
	}, nil
}
