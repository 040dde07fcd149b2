// Package translator is for the names and metadata of objects that exist in two
// clusters. Embed what NewNamespacedTranslator, NewClusterTranslator or
// NewMirrorPhysicalTranslator returns in a syncer, and what is left to write is
// what the syncer does with spec and status.
//
// A translated object says where it comes from: a label names the virtual cluster,
// annotations name the virtual object and its UID. These marks are stored in host
// clusters; they keep their names.
package translator
