// Package apisurface holds the library to the API that providers were written
// for: every name of it exists, with its signature.
//
// A golden file in testdata says what that API is, as go doc would. The test
// type-checks each of its lines against the library and compares types, not
// texts, so that an alias or an instance of a generic type is as good as what it
// stands for. Fields of structs and methods of interfaces are compared both ways:
// one too many breaks an author as well. What differs on purpose stands in a
// .deviations file beside the golden one, a reason at each line.
package apisurface
