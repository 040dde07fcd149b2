//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package child_test

func leads() bool { return false }
