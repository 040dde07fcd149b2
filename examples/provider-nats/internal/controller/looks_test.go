package controller_test

import "github.com/moorage-dev/moorage/examples/provider-nats/apis/v1alpha1"

// looks are the results of reads of a ProviderConfig.
type looks = []func(*v1alpha1.ProviderConfig) error

// unprotected is a read of one that has no finalizer yet.
func unprotected(pc *v1alpha1.ProviderConfig) error {
	pc.Finalizers = nil

	return nil
}
