// Package migrate makes a provider of Moorage out of one that was written for another
// runtime: it rewrites imports and names, requires the versions that Moorage needs, and
// lists what a person has to decide. Start with [Make], which writes nothing.
//
// What is renamed to what stands in tables: krateo.go and crossplane.go. Rewriting is
// syntactic, by go/ast: no package is loaded, so that it works before anything compiles.
package migrate
