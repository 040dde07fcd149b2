// Package port finds ports of this machine for servers of tests and demos.
//
// Begin with Free in a test, and with NewRange elsewhere.
package port
