//go:build !race

package systemtest

// How much there is to do, unless flags say something else.
const (
	manyObjects = 500
	manyChanges = 100
	manyBuckets = 30
	seeds       = 60  // of what goes wrong with the calls of a store
	measured    = 500 // changes whose news is waited for
)
