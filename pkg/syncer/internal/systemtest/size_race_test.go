//go:build race

package systemtest

// Under the race detector everything takes several times as long, and what happens at the
// same time is the same with fewer: eight workers, and every step of a schedule.
const (
	manyObjects = 200
	seeds       = 3
)
