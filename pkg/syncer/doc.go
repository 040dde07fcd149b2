// Package syncer synchronizes objects of one kind between a virtual (tenant)
// cluster and a physical (host) cluster. A virtual object is represented on the host
// by its image, a host object with a translated name. Start with Syncer, most of
// which package translator implements, and with Runner, which runs syncers for two
// kubeconfigs. FromTyped adapts a syncer of one Go type.
//
// A pass reconciles one virtual name. It reads both objects from the caches and
// calls SyncDown (only the virtual object exists), Sync (both exist), or SyncUp
// (only the host object exists; without an UpSyncer the host object is deleted).
// Events of both clusters are mapped to the virtual name, so two passes for one name
// never run at the same time, with any number of workers.
//
// The default options are safe:
//
//   - A host object that the virtual object does not own is neither changed nor
//     deleted; the conflict is reported in an event.
//   - If a virtual object was deleted and recreated, the image of the former object
//     is deleted before a new one is created.
//   - No host object is created for a virtual object that is being deleted.
//   - A host object is deleted only after a live read of the virtual API server
//     confirms that the virtual object is gone. The API server is identified by the
//     UID of its kube-system namespace. The delete has preconditions.
//   - Responses of another cluster at the same address are not accepted.
//
// Each rule has an option that turns it off; LegacyOptions turns all of them off.
//
// A Fleet does the same for many virtual clusters. Package bridge runs a syncer in
// the managed reconciler.
package syncer
