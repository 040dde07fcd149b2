// Package trials tests what an operator may expect of the library when the platform gives wrong
// answers or loses stored data. Its tests use only public packages of the library, and each
// states what must hold. It has no other code.
package trials
