// Package serviceprovider is for programs that offer a service across clusters: a user creates an
// object on the onboarding cluster, its configuration is on the platform cluster, and the service
// runs in the user's control plane (MCP) and, if needed, in a workload cluster, to which the
// platform grants access on request.
//
// Start with a Reconciler, whose two methods implement the service, and NewAPIReconcilerBuilder.
// The package does everything else: configuration, finalizer, access to the clusters, status,
// requeues and watches. Package clusteraccess has the access providers.
//
// A pass decides in a pure function what to do next, does it, and reports once. Its rules:
//
//   - Status is written once per pass, as a patch of what differs. A steady pass sends no
//     request to the onboarding cluster.
//   - An object or a configuration that cannot be read changes nothing: neither a restart nor a
//     read error sets Ready to False.
//   - A deletion whose configuration or cluster does not exist continues as DeletionPolicy
//     says, and is never blocked silently: the condition DeletionBlocked says what it waits
//     for.
//   - Delete of the domain is called again until it returns an empty result and no error, and
//     not after access was released.
//
// The role of a program needs the permissions of its access provider, and these for the kinds of
// its objects on the onboarding cluster and of its configuration on the platform cluster:
//
//	// +kubebuilder:rbac:groups=GROUP,resources=OBJECTS,verbs=get;list;watch;patch
//	// +kubebuilder:rbac:groups=GROUP,resources=OBJECTS/status,verbs=patch
//	// +kubebuilder:rbac:groups=GROUP,resources=CONFIGS,verbs=list;watch
//
// A ConfigReconciler also gets the configuration. A Recorder creates and patches events of the
// group events.k8s.io on the onboarding cluster. SecretNamespace and ConfigMapNamespace need list
// and watch (of metadata) and get for Secrets or ConfigMaps, in that namespace only.
package serviceprovider
