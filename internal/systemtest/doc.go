// Package systemtest tests the library against a real API server: the requests that the library sends, and their
// effect. The package has no other code.
package systemtest
