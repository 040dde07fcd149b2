// Package apicore is the write path of an API server for objects that are JSON images in
// memory: which part of a request counts, which metadata only a server sets, which requests
// are refused and with which text, and how patches apply. Storage, watches and the
// validation of specs are of the server that uses it: pkg/sim/apiserver, which simulates
// one, and pkg/store/kube, which is a client of a store. Start with Kind.
//
// No function changes its arguments. Results share values with them.
//
// Tests of pkg/sim/apiserver compare the path with a real API server; a test of
// pkg/store/kube compares the two servers with each other, write by write.
package apicore
