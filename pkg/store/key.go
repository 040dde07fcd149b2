package store

import "strings"

// ValidKey tells whether a key is one that every store takes: letters, digits and
// -/_=. in parts that dots separate and of which none is empty. That is what a
// NATS key-value bucket accepts.
func ValidKey(key string) bool {
	for part := range strings.SplitSeq(key, ".") {
		if part == "" || strings.IndexFunc(part, notInKey) >= 0 {
			return false
		}
	}

	return true
}

func notInKey(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	default:
		return !strings.ContainsRune("-/_=", r)
	}
}
