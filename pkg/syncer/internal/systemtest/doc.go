// Package systemtest is for tests of the whole syncer between two real API servers,
// each with an etcd of its own.
package systemtest
