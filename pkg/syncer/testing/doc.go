// Package testing is for tests of syncers without any cluster: SyncTest holds the
// objects of both clusters before and after what a test does, FakeStartSyncer makes
// a syncer and the context of a pass. Nothing runs by itself: the test calls
// SyncDown, Sync and the others.
//
// Import it as syncertesting, since tests need the standard library's package as
// well.
package testing
