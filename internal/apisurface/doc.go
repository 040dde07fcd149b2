// Package apisurface holds the library to the API that providers were written
// for: every name of it exists, with its signature.
//
// A golden file in testdata lists that API, as go doc would. The test type-checks each of its
// lines against the library and compares types, not texts, so that an alias or an instance of a
// generic type is the same as its target. Fields of structs and methods of interfaces are
// compared both ways: an additional one breaks an author as well. Intended differences are in a
// .deviations file beside the golden one, with a reason at each line.
package apisurface
