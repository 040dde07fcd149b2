// Package controller holds the options that the controllers of one provider
// share: start with DefaultOptions, change what your flags say, and hand the same
// Options to each controller's setup.
package controller
