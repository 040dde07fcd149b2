// Package clientmanagertest has a stand-in for the connections to clusters, for tests of
// controllers that use package clientmanager: FakeClientProvider. It imports nothing else
// that is for tests.
package clientmanagertest
