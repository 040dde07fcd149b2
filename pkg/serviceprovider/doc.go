// Package serviceprovider is for programs that offer a service across cluster borders:
// a user creates an object on the onboarding cluster, configuration lives on the platform
// cluster, and the work is done in the user's control plane (MCP) and, if need be, in a
// workload cluster, to which access has to be requested and granted first.
//
// Begin with a Reconciler, the two methods that know the service, and
// NewAPIReconcilerBuilder. Everything else is done here: the configuration, the
// finalizer, access to the clusters, status, requeues and watches. Package clusteraccess
// has the access providers.
//
// One pass decides in a pure function what comes next, does that, and reports once. Its
// rules:
//
//   - Status is written once per pass, as a patch of what differs. A steady pass sends
//     nothing to the onboarding cluster.
//   - What cannot be read just now changes nothing: neither a restart nor an error takes
//     Ready away from an object.
//   - A deletion whose configuration or cluster is gone ends as the policy says
//     (DeletionPolicy), and never silently hangs: the condition DeletionBlocked says
//     what it waits for.
//   - The domain's Delete is called again until it returns an empty result and no error,
//     and not any more once access is being taken away.
//
// The role of a program needs what its access provider needs, for the kind of its objects
// on the onboarding cluster, and for that of its configuration on the platform:
//
//	// +kubebuilder:rbac:groups=GROUP,resources=OBJECTS,verbs=get;list;watch;patch
//	// +kubebuilder:rbac:groups=GROUP,resources=OBJECTS/status,verbs=patch
//	// +kubebuilder:rbac:groups=GROUP,resources=CONFIGS,verbs=list;watch
//
// A ConfigReconciler also gets the configuration. A Recorder creates and patches events of
// the group events.k8s.io on the onboarding cluster. In the namespace, and only there, that
// SecretNamespace or ConfigMapNamespace names, Secrets or ConfigMaps are listed and watched
// by their metadata, and got when they change.
package serviceprovider
