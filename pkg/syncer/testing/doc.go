// Package testing helps to test syncers without a cluster. SyncTest is a test case with
// the objects of both clusters before and after the test's steps. FakeStartSyncer creates
// a syncer and the context of a pass. No controller runs: the test calls SyncDown, Sync
// and the other methods itself.
//
// Import the package as syncertesting, because tests need the standard library's testing
// as well.
package testing
