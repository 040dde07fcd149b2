//go:build !linux

package trim

// Program does nothing: only Linux has this advice.
func Program() {}
