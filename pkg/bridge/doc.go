// Package bridge is for treating another cluster as an external system. A Bridge
// makes of a syncer, which says how objects of one kind are carried from a cluster to
// its host, an external client of the managed reconciler: the host object is the
// external resource. Begin with New.
//
// What the reconciler adds to what a syncer does by itself: policies, conditions,
// references, ownership that can be adopted, a change log, and a finalizer that keeps
// the object until its host object is gone.
//
// The host object has a name of our choice, the one that the syncer says, so nothing
// is ever created twice. Its marks say whose it is, the UID of the object included.
// Whether it is up to date, the syncer itself says: Observe lets it sync with a client
// that sends nothing, and looks whether it would have written.
package bridge
