// Package testing helps to test syncers without a cluster. A SyncTest is a test case with the objects of both clusters
// before and after the steps of the test. FakeStartSyncer creates a syncer and the context of a pass. No controller
// runs: the test calls SyncDown, Sync and the other methods itself.
//
// Import the package as syncertesting, because tests also import the standard library's testing.
package testing
