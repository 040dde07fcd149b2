// Package translator translates names and metadata of objects between a virtual and a
// physical cluster. Start with NewNamespaced: a syncer that embeds its result has to
// implement only the synchronization of spec and status. NewClusterScoped is for
// cluster-scoped host objects, NewMirrorPhysicalTranslator for objects of the host that
// are copied up.
//
// A host object has ownership marks: a label with the name of the virtual cluster, and
// annotations with the name and UID of the virtual object. The marks are stored in host
// clusters, so their keys do not change.
package translator
