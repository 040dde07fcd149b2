// Package gappy has a decision whose tests do not notice one exchange and one deletion.
package gappy

// Decide returns the one thing to do.
func Decide(gone, paused, changed bool) string {
	switch {
	case gone:
		return "forget"
	case paused:
		return "wait"
	case changed &&
		!paused:
		return "update"
	default:
		return "nothing"
	}
}
