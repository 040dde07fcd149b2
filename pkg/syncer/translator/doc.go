// Package translator translates names and metadata of objects between a virtual and a physical cluster. Start with
// NewNamespaced: a syncer that embeds its result has to implement only the synchronization of spec and status. Use
// NewClusterScoped for cluster-scoped host objects, and NewMirrorPhysicalTranslator for objects that are copied from
// the host to the virtual cluster.
//
// The translators write ownership marks to host objects: a label with the name of the virtual cluster, and annotations
// with the name and UID of the virtual object. The keys of the marks do not change between versions, because host
// objects have them already.
package translator
