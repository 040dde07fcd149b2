//go:build race

package systemtest

// Under the race detector everything takes several times as long, servers too, and what
// happens at the same time is the same with fewer: sixteen writers, eight workers, and every
// kind of fault.
const (
	manyObjects = 200
	manyChanges = 60
	manyBuckets = 10
	seeds       = 12
	measured    = 100
)
