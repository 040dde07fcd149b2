// Package systemtest has tests of the library against a real API server: the requests that are sent, and their effect.
// It has no other code.
package systemtest
