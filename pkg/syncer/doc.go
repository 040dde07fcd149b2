// Package syncer synchronizes objects of one kind between a virtual (tenant) cluster and a physical (host) cluster.
// For each virtual object, the syncer creates a host object with a translated name, which is called the image of the
// virtual object.
//
// Start with Syncer, the interface that you implement; package translator implements most of it. A Runner runs
// syncers for two kubeconfigs. FromTyped adapts a syncer of one Go type.
//
// A pass is one call of Reconcile for one virtual name, the namespace and name of a virtual object. It reads both
// objects from the caches and calls one method of the syncer:
//
//   - SyncDown, if only the virtual object exists
//   - Sync, if both objects exist
//   - SyncUp, if only the host object exists; if the syncer is not an UpSyncer, the host object is deleted
//
// Events of both clusters are mapped to the virtual name. Therefore two passes for one name never run at the same
// time, even with several workers.
//
// The default options are safe:
//
//   - A host object that the virtual object does not own is neither changed nor deleted. An event reports the
//     conflict.
//   - If a virtual object was deleted and recreated, the image of the former object is deleted before a new one is
//     created.
//   - No host object is created for a virtual object that is being deleted.
//   - A host object is deleted only after a live read of the virtual API server confirms that the virtual object is
//     gone. The API server is identified by the UID of its kube-system namespace. The delete has preconditions.
//   - Responses of another cluster at the same address are not accepted.
//
// Each rule has an option that turns it off. LegacyOptions turns all of them off.
//
// A Fleet does the same for many virtual clusters. Package bridge runs a syncer in the managed reconciler.
package syncer
