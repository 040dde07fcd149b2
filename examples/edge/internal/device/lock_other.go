//go:build !unix

package device

// lock does nothing: this system has no lock that is released when its process ends.
func lock(string) (func(), error) { return func() {}, nil }
