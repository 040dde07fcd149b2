// Package red has a test that fails as it is.
package red

// Decide returns the one thing to do.
func Decide(gone bool) string {
	switch {
	case gone:
		return "forget"
	}
	return "nothing"
}
