package translate

// Portable is what EnsureCRDFromPhysicalCluster makes of a definition of the host.
var Portable = portable
