// Package apicore implements the writes of an API server for objects that are JSON objects in memory. It determines
// which part of a request is used, which metadata only the server sets, which requests are refused with which text, and
// how patches apply. A JSON object in memory is called an image. Start with Kind.
//
// The server that uses the package provides the storage, the watches and the validation of specs. Package
// pkg/sim/apiserver simulates an API server. Package pkg/store/kube is a client of a store.
//
// No function changes its arguments. Results share values with the arguments.
//
// Tests of pkg/sim/apiserver compare the results with those of a real API server. A test of pkg/store/kube compares the
// two users of this package with each other, write by write.
package apicore
