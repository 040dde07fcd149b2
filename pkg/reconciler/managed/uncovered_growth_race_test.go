//go:build race

package managed_test

// ManyObjects are fewer under the race detector, which makes each ten times as
// slow.
const manyObjects = 10_000
