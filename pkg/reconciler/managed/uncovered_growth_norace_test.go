//go:build !race

package managed_test

// ManyObjects are enough to show what grows.
const manyObjects = 100_000
