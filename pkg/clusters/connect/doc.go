// Package connect makes connections to clusters that are described by Cluster objects,
// and says in their status how these are doing.
//
// Begin with Setup, and give it the cache that the program's other controllers take
// their connections from. The kubeconfig is in a Secret beside the Cluster, which is
// read once a minute, and at once when the Cluster is changed or its server refuses
// the credentials, to us or to whoever uses the connection. Other credentials are another revision: the connection before is
// replaced, and the leases on it end. When the Cluster goes, so do they.
//
// Every process that uses clusters runs the controller for itself, also while it does
// not lead: the connections are in its memory. All of them write the same status: one
// that finds what it has not said reads the settings again before it says anything. If
// they cannot agree, since the kubeconfigs of their own differ or only some of them reach
// the cluster, each of them writes once in a recheck interval at most.
//
// The role of such a program needs:
//
//	// +kubebuilder:rbac:groups=clusters.moorage.dev,resources=clusters,verbs=get;list;watch
//	// +kubebuilder:rbac:groups=clusters.moorage.dev,resources=clusters/status,verbs=patch
//	// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
//	// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
package connect
