// Package controller holds the options that the controllers of one provider
// share: start with DefaultOptions, change what your flags say, and hand the same
// Options to each controller's setup.
//
// What the controllers work on comes out of a queue (NewQueue) that knows classes
// of work, from what a user waits for to polls, and lets none of them starve.
package controller
