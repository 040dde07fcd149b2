//go:build race

package redact

// The race detector makes everything ten times as slow, and has nothing to find in what
// one goroutine does with a text: it sees fewer places, and shorter texts.
const (
	worst = 1 << 16
)
