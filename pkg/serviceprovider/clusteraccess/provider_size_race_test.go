//go:build race

package clusteraccess

// Under the race detector, where everything takes ten times as long, fewer objects come and
// go: one that leaves something is as good as ten thousand.
const many = 1_000
