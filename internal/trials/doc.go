// Package trials tests the library when the platform responds incorrectly or loses stored data. Each test states what
// an operator may expect then. The tests use only public packages of the library. The package has no other code.
package trials
