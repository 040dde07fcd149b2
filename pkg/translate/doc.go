// Package translate translates names, labels and kinds of a virtual cluster to its host.
// Start with Names, a value per virtual cluster. The functions of the same names use the
// package variables, for plugins that serve one virtual cluster per process.
// EnsureCRDFromPhysicalCluster copies a CRD from the host to the virtual cluster.
//
// Host names never change between versions, because objects are stored under them.
package translate
