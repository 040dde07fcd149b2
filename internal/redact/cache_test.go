package redact

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestCacheChangesNoResult verifies that masks that share a cache return what they return without one, also if they
// have other secrets, and the second time.
func TestCacheChangesNoResult(t *testing.T) {
	const first, second = "correct horse", "battery staple"
	c := &Cache{}
	for _, secrets := range [][][]byte{nil, {[]byte(first)}, {[]byte(second)}, {[]byte(first), []byte(second)}} {
		for _, text := range []string{
			first + " and " + second, "password=hunter22 for " + first, strings.Repeat("x", 8*MaxLen) + first, "",
		} {
			for range 2 {
				want, got := NewMask(secrets...).String(text), NewMask(secrets...).WithCache(c).String(text)
				if got != want {
					t.Errorf("%d secrets: got %q, want %q", len(secrets), got, want)
				}
				err := NewMask(secrets...).WithCache(c).Error(errors.New(text))
				if err.Error() != want {
					t.Errorf("%d secrets: got the error %q, want %q", len(secrets), err, want)
				}
			}
		}
	}
}

// TestCacheIsUsed verifies that a text is redacted once for all masks of the same secrets, that the cache is bounded,
// and that it stores no secret.
func TestCacheIsUsed(t *testing.T) {
	const secret = "correct horse"
	c := &Cache{}
	masked := func(text string) bool { // it was not in the cache
		m := NewMask([]byte(secret)).WithCache(c)
		_ = m.String(text)

		return m.all != nil // which a mask has once it is prepared
	}
	text := func(i int) string { return fmt.Sprintf("%d: %s", i, secret) }
	if !masked(text(0)) || masked(text(0)) {
		t.Error("a text is not redacted exactly once")
	}
	for i := range 10 * maxEntries {
		masked(text(i))
	}
	if !masked(text(0)) || masked(text(10*maxEntries-1)) {
		t.Error("the cache does not have the last texts, or all texts")
	}
	if n := len(c.current) + len(c.previous); n > 2*maxEntries {
		t.Errorf("the cache has %d texts", n)
	}
	if strings.Contains(fmt.Sprintf("%s %v", c.current, c.previous), secret) {
		t.Error("the cache stores a secret")
	}
}
