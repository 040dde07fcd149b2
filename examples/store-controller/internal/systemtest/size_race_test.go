//go:build race

package systemtest

// The race detector makes everything several times slower, the servers too. Less work has the same concurrency: sixteen
// writers, eight workers, and every kind of fault.
const (
	manyObjects = 200
	manyChanges = 60
	manyBuckets = 10
	seeds       = 12
	measured    = 100
)
