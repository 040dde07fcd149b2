// Package jsonpatch is for what answers requests as an API server does: it applies
// merge patches and JSON patches to the JSON images of objects, with the answers of
// a real server, oddities included. Random patches are compared with a real one by
// the tests of pkg/sim/apiserver.
package jsonpatch
