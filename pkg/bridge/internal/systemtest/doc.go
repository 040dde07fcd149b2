// Package systemtest is for tests of the bridge between two real API servers, each
// with an etcd of its own.
package systemtest
