// Package providerconfig keeps the configurations of a provider while they are in
// use, and counts their users. A configuration holds what is needed to reach an
// external system: if it went before the objects that use it, they could not be
// deleted any more.
//
// Begin with Setup in the provider's main, and call Get where Connect looks for the
// configuration of an object.
//
// There are no usage objects. Who uses what is read from the informers of the
// managed kinds, which a provider has anyway. A configuration is used by the objects
// that refer to it: one with a namespace by those of its own namespace only, one
// without by those of all namespaces. It gets the finalizer FinalizerName as soon as
// it is seen, and Get hands it out only after that, so that it cannot vanish before
// its first use is counted. When it is deleted the finalizer stays until its last
// user is gone; the condition Terminating says whom that waits for.
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
