// Package clusterstest provides fakes for tests and demos of programs that use several clusters. FakeClientProvider is
// a fake of the connections to clusters. A Granter takes the role of the platform, which grants access to clusters.
package clusterstest
