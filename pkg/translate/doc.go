// Package translate is for giving objects of one cluster their names, marks and
// kinds in another one. Begin with Names, which knows a virtual cluster's names
// on its host; the functions beside it do the same with the package's variables,
// as plugins that serve one virtual cluster per process are used to.
// EnsureCRDFromPhysicalCluster copies a kind from one cluster to the other.
//
// Names are stable: they are part of what is stored in host clusters, and what
// was stored under them before is found again.
package translate
