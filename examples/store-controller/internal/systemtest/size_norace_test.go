//go:build !race

package systemtest

// The default amount of work; flags change it.
const (
	manyObjects = 500
	manyChanges = 100
	manyBuckets = 30
	seeds       = 60  // of random faults of a store
	measured    = 500 // changes whose latency is measured
)
