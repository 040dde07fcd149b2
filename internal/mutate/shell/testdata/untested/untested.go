// Package untested has no tests.
package untested

func Yes() bool { return true }
