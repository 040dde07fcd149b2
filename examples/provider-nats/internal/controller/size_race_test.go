//go:build race

package controller_test

// How many streams there are: the race detector makes everything ten times as slow.
const streams = 1_000
