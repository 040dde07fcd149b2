//go:build !race

package controller_test

// How many streams there are.
const streams = 10_000
