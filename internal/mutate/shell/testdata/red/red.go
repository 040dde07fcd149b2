// Package red has tests that fail.
package red

func Yes() bool { return true }
