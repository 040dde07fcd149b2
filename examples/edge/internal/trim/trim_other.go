//go:build !linux

package trim

// Program does nothing: there is no way to say so.
func Program() {}
