// Package clientmanagertest provides FakeClientProvider, a fake of the connections to clusters. It is for tests of
// controllers that use package clientmanager. It imports no other test package.
package clientmanagertest
