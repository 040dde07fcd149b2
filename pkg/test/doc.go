// Package test helps to test controllers without an API server: a client whose
// every call is a function of the test's choice, and ways to compare errors and
// conditions with cmp.Diff.
//
// Begin with NewMockClient and replace the functions that the code under test
// should meet:
//
//	c := test.NewMockClient()
//	c.MockGet = test.NewMockGetFn(errBoom)
package test
