//go:build !race

package connect

// many clusters come and go.
const many = 10_000
