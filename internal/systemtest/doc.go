// Package systemtest is for tests of the library against a real API server. It
// holds a ledger of the requests that a client sends, and the tests.
package systemtest
