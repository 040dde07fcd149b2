// Package syncer is for keeping one kind of object in step between a virtual
// (tenant) and a physical (host) cluster, renamed on the way. Begin with Syncer,
// most of which the package translator writes for you, and with a Runner, which
// runs syncers from two kubeconfigs on. FromTyped makes a Syncer without casts.
//
// A pass is about one virtual name. It finds both objects in the caches and calls
// SyncDown (only here), Sync (both), or SyncUp or a deletion (only there). Events
// of either cluster lead to the virtual name, so that two passes about one name
// never run at the same time, with any number of workers.
//
// It is safe by default: a host object that does not belong to the virtual one is
// neither changed nor deleted, and the user is told; an image of an object that was
// deleted and created again makes room for a new one; nothing is made for an object
// that is being deleted; a host object is deleted only if the virtual API server
// itself, known by the UID of its kube-system namespace, says that the virtual one
// is gone, and only the very object that was looked at; what another cluster says
// under its address is not listened to. Options say otherwise, LegacyOptions all of
// them.
//
// A Fleet does the same for many virtual clusters; package bridge lets the managed
// reconciler do it.
package syncer
