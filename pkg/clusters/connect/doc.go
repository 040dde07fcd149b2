// Package connect makes connections to the clusters of Cluster objects, and reports the health of the clusters in their
// status.
//
// Start with Setup. Its cache is the cache from which the other controllers of the program get their connections. The
// kubeconfig is in a Secret in the namespace of the Cluster. The controller reads the Secret once a minute. It also
// reads the Secret when the Cluster changes, and when the API server of the cluster rejects the credentials in any
// request of the program. Changed credentials give the connection a new revision: the connection is replaced, and the
// leases on the old connection end. The leases also end when the Cluster is deleted.
//
// Every process that uses clusters runs this controller, even if it is not the leader, because the connections are in
// its memory. All processes write the same status. A process that finds another status than it has written reads the
// Secret again before it writes. Two processes may disagree, because their own kubeconfigs differ or only one of them
// reaches the cluster. Each of them then writes at most once per recheck interval.
//
// The role of such a program needs:
//
//	// +kubebuilder:rbac:groups=clusters.moorage.dev,resources=clusters,verbs=get;list;watch
//	// +kubebuilder:rbac:groups=clusters.moorage.dev,resources=clusters/status,verbs=patch
//	// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
//	// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
package connect
