//go:build !race

package clusteraccess

// many objects come and go.
const many = 10_000
