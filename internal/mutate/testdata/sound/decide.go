// Package sound has a decision whose tests notice every change.
package sound

// Facts are what is decided on.
type Facts struct{ Gone, Paused, Changed bool }

// Decide returns the one thing to do.
func Decide(f Facts) string {
	switch {
	case f.Gone: // the most important
		return "forget"
	case f.Paused:
		return "wait"
	case f.Changed:
		return update(2)
	default:
		return "nothing"
	}
}

func update(times int) string {
	switch times {
	case 1:
		return "update"
	case 2:
		return "update twice"
	}
	return "update often"
}
