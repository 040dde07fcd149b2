// Package nested has a decision in a case of another.
package nested

// Decide tells which of them hold.
func Decide(a, b bool) string {
	switch {
	case a:
		switch {
		case b:
			return "both"
		}
		return "a"
	case b:
		return "b"
	}
	return "none"
}
