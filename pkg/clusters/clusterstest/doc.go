// Package clusterstest has what tests and demos of programs that use several clusters
// need: FakeClientProvider stands in for the connections to them, and a Granter plays the
// platform that grants access to them.
package clusterstest
