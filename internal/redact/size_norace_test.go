//go:build !race

package redact

const (
	stride = 29      // from one place of a secret in the window to the next
	worst  = 1 << 20 // bytes of the texts that must not take long
)
