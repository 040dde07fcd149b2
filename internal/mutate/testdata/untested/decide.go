// Package untested has a decision and no test.
package untested

// Decide returns the one thing to do.
func Decide(gone bool) string {
	switch {
	case gone:
		return "forget"
	}
	return "nothing"
}
