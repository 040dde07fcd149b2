// Package translate translates names, labels and kinds of a virtual cluster to its host. Start with Names; create one
// for each virtual cluster. The package functions with the names of its methods use package variables instead. They are
// for plugins that serve one virtual cluster per process. EnsureCRDFromPhysicalCluster copies a CRD from the host to
// the virtual cluster.
//
// The translation never changes between versions, because host objects exist under the translated names.
package translate
