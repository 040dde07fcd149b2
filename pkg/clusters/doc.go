// Package clusters is for reconcilers whose work is done in other clusters than
// their own: it shares the connections to them, says when one was replaced, and
// sees to it that nobody goes on with the old one.
//
// Begin with a Cache, which makes one connection per cluster and revision, and a
// Manager over it, which remembers what each object built on which revision:
//
//	cache    who feeds it knows the credentials: Set, Fail and Drop
//	manager  who uses it has objects: Refresh first, then Get
//	lease    ends (Lease.Context) when its revision is replaced
//
// Once the API server of a cluster was restored to an earlier state, a Cache replaces the
// connection to it, under the same revision: see Restore. OnRestored tells it of any other
// configuration.
//
// A revision is an opaque text that changes whenever the connection has to be made
// anew: other credentials, another address, another cluster of the same name. It is
// no time, so that no clock has a say in it.
//
// Cluster is the connection that most users want: a client and, if somebody asks for
// it, a cache. ParseKubeconfig makes the configuration for it out of what somebody
// else wrote, and refuses what would let them run programs, read files or act as
// somebody else. Package connect feeds a Cache from objects, package clientmanager
// has the same rules for clusters whose revision is a time.
package clusters
