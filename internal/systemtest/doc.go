// Package systemtest is for tests of the library against a real API server: what
// is sent, and what becomes of it. It has no other code.
package systemtest
