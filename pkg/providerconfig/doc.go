// Package providerconfig protects the configurations of a provider from deletion while they are in use, and counts
// their users. A configuration holds the settings and credentials of an external system. Without its configuration, an
// object could not be deleted.
//
// Start with Setup in the main function of the provider. In Connect, call Get to read the configuration of an object.
//
// There are no usage objects, as Crossplane has them. The users are read from the informers of the managed kinds, which
// a provider has anyway. The users of a namespaced configuration are the objects of its namespace that refer to it. The
// users of a cluster-scoped configuration are the objects of all namespaces that refer to it.
//
// Setup adds the finalizer FinalizerName to a configuration at its first reconcile. Get returns a configuration only
// after that, so that it cannot be deleted before its first use is counted. After a configuration was deleted, the
// finalizer stays until the last user is gone. The condition Terminating names the remaining users.
//
// The manager that is passed to Setup must see all users. Do not restrict its cache to namespaces or labels that
// exclude some of them.
//
// A provider's role needs, for its kinds of configuration:
//
//	// +kubebuilder:rbac:groups=GROUP,resources=providerconfigs;clusterproviderconfigs,verbs=get;list;watch;patch
//	// +kubebuilder:rbac:groups=GROUP,resources=providerconfigs/status;clusterproviderconfigs/status,verbs=patch
//	// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
//
// It also needs list and watch on the managed kinds, as their controllers do.
package providerconfig
