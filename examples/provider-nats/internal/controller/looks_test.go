package controller_test

import "github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"

// looks are what becomes of looks at a ProviderConfig.
type looks = []func(*v1alpha1.ProviderConfig) error

// unprotected is a look at one that nothing protects from being deleted yet.
func unprotected(pc *v1alpha1.ProviderConfig) error {
	pc.Finalizers = nil

	return nil
}
