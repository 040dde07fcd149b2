// Package odd has files that cannot be mutated, each for its own reason.
package odd

import "strings"

// Decide uses its only import in its only case: without the case, the file does not compile.
func Decide(name string) string {
	switch {
	case strings.HasPrefix(name, "a"):
		return "first"
	}
	return "other"
}
