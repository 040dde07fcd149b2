//go:build !race

package redact

const (
	worst = 1 << 20 // bytes of the texts that must not take long
)
