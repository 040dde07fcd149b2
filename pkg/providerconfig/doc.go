// Package providerconfig protects the configurations of a provider from deletion while
// they are in use, and counts their users. A configuration holds the settings and
// credentials of an external system: without it, the objects that use it could not be
// deleted.
//
// Start with Setup in the provider's main, and call Get where Connect needs the
// configuration of an object.
//
// There are no usage objects. The users are read from the informers of the
// managed kinds, which a provider has anyway. A configuration is used by the objects
// that refer to it: a namespaced one by those of its own namespace only, a
// cluster-scoped one by those of all namespaces. It gets the finalizer FinalizerName
// at its first reconcile, and Get returns it only after that, so that it cannot be
// deleted before its first use is counted. When it is deleted the finalizer stays
// until its last user is gone; the condition Terminating names the remaining users.
//
// The manager of Setup must see all users: its cache must not be restricted to some
// namespaces or labels that hold only a part of them.
//
// A provider's role needs, for its kinds of configuration:
//
//	// +kubebuilder:rbac:groups=GROUP,resources=providerconfigs;clusterproviderconfigs,verbs=get;list;watch;patch
//	// +kubebuilder:rbac:groups=GROUP,resources=providerconfigs/status;clusterproviderconfigs/status,verbs=patch
//	// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
//
// and list and watch on the managed kinds, which their controllers need too.
package providerconfig
