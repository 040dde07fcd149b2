// Package odd has files that cannot be mutated, each for its own reason.
package odd

// Decide falls through into its last case: without it, or with it first, the file does not compile.
func Decide(long, short bool) (out string) {
	switch {
	case long:
		out = "first, "
		fallthrough
	case short:
		out += "second"
	}
	return out
}
