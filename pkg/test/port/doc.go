// Package port finds free TCP ports of this machine for the servers of tests and demos.
//
// Begin with Free in a test, and with NewRange elsewhere.
package port
