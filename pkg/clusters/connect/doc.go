// Package connect makes connections to the clusters of Cluster objects, and reports the
// health of the clusters in the status.
//
// Start with Setup. It takes the cache from which the other controllers of the program get
// their connections. The kubeconfig is in a Secret in the namespace of the Cluster. It is
// read once a minute, and at once when the Cluster changes or its server rejects the
// credentials in a request of this controller or of a user of the connection. Other
// credentials are another revision: the connection is replaced, and the leases on it end.
// They also end when the Cluster is deleted.
//
// Every process that uses clusters runs the controller, also if it is not the leader,
// because the connections are in its memory. All processes write the same status: one that
// finds another report than its own reads the settings before it writes. If two processes
// disagree, because their own kubeconfigs differ or only one of them reaches the cluster,
// each writes at most once per recheck interval.
//
// The role of such a program needs:
//
//	// +kubebuilder:rbac:groups=clusters.moorage.dev,resources=clusters,verbs=get;list;watch
//	// +kubebuilder:rbac:groups=clusters.moorage.dev,resources=clusters/status,verbs=patch
//	// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
//	// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
package connect
