// Package systemtest tests syncers between two real API servers, each with its own etcd.
package systemtest
