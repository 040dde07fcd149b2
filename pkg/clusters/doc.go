// Package clusters is for reconcilers that work in other clusters than their own: it
// shares the connections to them, reports when one was replaced, and ends the use of the
// old one.
//
// Start with a Cache, which makes one connection per cluster and revision, and a Manager
// over it, which tracks which object uses which revision:
//
//	cache    Set, Fail and Drop are for the component that has the credentials
//	manager  Refresh, then Get, are for the reconciler of the objects
//	lease    its Context ends when the revision is replaced
//
// When the API server of a cluster was restored to an earlier state, a Cache replaces the
// connection to it under the same revision: see Restore. OnRestored does the detection for
// any other configuration.
//
// A revision is an opaque string that differs for any two connections: other credentials,
// another address, another cluster of the same name. It is no time, so it does not depend
// on a clock.
//
// Cluster is the connection for most users: a client and, on demand, a cache.
// ParseKubeconfig makes its configuration from an untrusted kubeconfig, and refuses fields
// that would run programs, read files or impersonate a user. Package connect feeds a Cache
// from objects. Package clientmanager has the same rules for clusters whose revision is a
// time.
package clusters
