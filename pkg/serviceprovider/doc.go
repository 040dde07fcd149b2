// Package serviceprovider is for programs that offer a service across clusters. A user creates an object on the
// onboarding cluster. The configuration is on the platform cluster. The service runs in the user's control plane (MCP)
// and, if needed, in a workload cluster. The platform grants access to these clusters on request.
//
// Start with a Reconciler, whose two methods implement the service, and NewAPIReconcilerBuilder. The package does
// everything else: configuration, finalizer, access to the clusters, status, requeues and watches. Package
// clusteraccess contains the access providers.
//
// The reconciler follows these rules:
//
//   - A pass writes the status once, as a patch of the changed fields. A pass without a change sends no request to the
//     onboarding cluster.
//   - If an object or a configuration cannot be read, the pass changes nothing. Neither a restart nor a read error
//     sets Ready to False.
//   - If the configuration or a cluster does not exist, DeletionPolicy determines how a deletion continues. A blocked
//     deletion sets the condition DeletionBlocked, whose message says what the deletion waits for.
//   - The reconciler calls Delete of the Reconciler again until it returns an empty result and no error. It does not
//     call Delete after access was released.
//
// The role of a program needs the permissions of its access provider. It also needs these permissions for the kinds of
// its objects on the onboarding cluster, and of its configuration on the platform cluster:
//
//	// +kubebuilder:rbac:groups=GROUP,resources=OBJECTS,verbs=get;list;watch;patch
//	// +kubebuilder:rbac:groups=GROUP,resources=OBJECTS/status,verbs=patch
//	// +kubebuilder:rbac:groups=GROUP,resources=CONFIGS,verbs=list;watch
//
// A ConfigReconciler also needs get for the configuration. A Recorder needs create and patch for events of the group
// events.k8s.io on the onboarding cluster. SecretNamespace and ConfigMapNamespace need get, list and watch for Secrets
// or ConfigMaps, in the given namespace only; list and watch read only metadata.
package serviceprovider
