// Package bridge makes another cluster the external system of managed resources. A Bridge turns a syncer, which
// synchronizes objects of one kind to a host cluster, into an external client of the managed reconciler. The
// host object is the external resource. Start with New.
//
// Compared with a syncer alone, the reconciler adds policies, conditions, references, adoption, a change log, and a
// finalizer that keeps the managed resource until its host object is gone.
//
// The syncer determines the name of the host object, so nothing is created twice. The ownership marks of the
// host object include the UID of the managed resource. To find out whether the host object is up to date,
// Observe calls Sync with a client that records writes and sends none.
package bridge
