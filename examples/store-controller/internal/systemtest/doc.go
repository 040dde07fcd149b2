// Package systemtest has the system tests of controllers over NATS, with real servers: NATS processes that are killed,
// and an API server.
package systemtest
