package store

import "strings"

// ValidKey returns whether every store accepts the key. Such a key consists of parts that dots separate. No part is
// empty, and each has only letters, digits and the characters -/_=. A NATS key-value bucket accepts the same keys.
func ValidKey(key string) bool {
	for part := range strings.SplitSeq(key, ".") {
		if part == "" || strings.IndexFunc(part, notInKey) >= 0 {
			return false
		}
	}

	return true
}

// notInKey returns whether a key cannot contain the character.
func notInKey(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	default:
		return !strings.ContainsRune("-/_=", r)
	}
}
