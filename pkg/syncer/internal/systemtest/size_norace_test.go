//go:build !race

package systemtest

const (
	manyObjects = 2000
	seeds       = 10
)
