package provider

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/moorage-dev/moorage/pkg/plan"

	kinds "github.com/moorage-dev/moorage/examples/provider-nats/internal/controller"
)

// Plan returns this provider for the command that shows what it would change. The options are those of the
// provider that runs, as far as they matter for a decision. Config returns the access to the cluster.
func Plan(o Options, config func(kubeconfig string) (*rest.Config, error)) (plan.Provider, error) {
	if o.Limits == nil {
		o.Limits = kinds.NewLimits()
	}

	scheme, err := newScheme()
	if err != nil {
		return plan.Provider{}, err
	}

	return plan.Provider{
		Name: Name, Version: version(),
		Config: func(kubeconfig string) (*rest.Config, error) {
			cfg, err := config(kubeconfig)
			if err != nil {
				return nil, err
			}

			return access(cfg, o), nil
		},
		Manager: func(namespaces []string) manager.Options {
			of := o
			if len(namespaces) > 0 { // else those of the provider that runs
				of.Namespace = strings.Join(namespaces, ",")
			}

			return managerOptions(scheme, of)
		},
		Credentials: func(secret types.NamespacedName) { o.credentials = secret },
		Setup:       func(ctx context.Context, m manager.Manager) error { return setup(ctx, m, o, nil) },
	}, nil
}
