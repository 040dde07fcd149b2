// Package apart has a decision whose tests are in two files. They do not notice one deletion.
package apart

// Decide returns the one thing to do.
func Decide(gone, paused bool) string {
	switch {
	case gone:
		return "forget"
	case paused:
		return "wait"
	default:
		return "nothing"
	}
}
