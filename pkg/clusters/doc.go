// Package clusters is for reconcilers that work in other clusters than their own. It shares the connections to these
// clusters. When a connection is replaced, it notifies the users of the old connection and ends their leases.
//
// Start with a Cache, which makes one connection per cluster and revision, and a Manager over it, which tracks which
// object uses which revision:
//
//	cache    Set, Fail and Drop are for the component that has the credentials
//	manager  Refresh, then Get, are for the reconciler of the objects
//	lease    its Context ends when the revision is replaced
//
// When the API server of a cluster was restored to an earlier state, a Cache replaces the connection to it, but the
// revision stays the same: see Restore. Without a Cache, call OnRestored to detect restores.
//
// A revision is an opaque string. Two connections have different revisions if their credentials or addresses differ, or
// if they lead to different clusters of the same name. A revision is not a time, so it does not depend on a clock.
//
// Cluster is the connection for most users: it has a client and, on demand, a cache. ParseKubeconfig makes the
// configuration of a Cluster from an untrusted kubeconfig. It refuses fields that would run programs, read files or
// impersonate a user. Package connect sets the inputs of a Cache from Cluster objects. Package clientmanager has the
// same rules for clusters whose revision is a time.
package clusters
