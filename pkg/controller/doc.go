// Package controller holds the options that the controllers of one provider
// share: start with DefaultOptions, change what your flags say, and hand the same
// Options to each controller's setup.
//
// What the controllers work on comes out of a queue (NewQueue) that knows classes
// of work, from what a user waits for to polls, and lets none of them starve.
//
// A Lease tells reconcilers until when this process is the leader. A RestoreDetector ends
// it when the API server was restored to an earlier state; the Lease shows it the versions
// that it sees, and a RestoreProbe does where there is no lease.
package controller
