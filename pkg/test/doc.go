// Package test helps to test controllers without an API server. It has a client whose calls are functions that the
// test sets, and compares errors and conditions with cmp.Diff.
//
// Begin with NewMockClient, and replace the functions that the code under test calls:
//
//	c := test.NewMockClient()
//	c.MockGet = test.NewMockGetFn(errBoom)
package test
