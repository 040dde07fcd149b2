package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// lettersOf returns the letters of an alphabet.
func lettersOf(a *alphabet) string {
	var b strings.Builder

	for c, is := range a {
		if is {
			b.WriteByte(byte(c))
		}
	}

	return b.String()
}

// TestTokens makes a token of each kind, and what is too short for one.
func TestTokens(t *testing.T) {
	random := rand.New(rand.NewPCG(47, 47))

	for _, kind := range tokens {
		for prefix := range strings.FieldsSeq(kind.prefixes) {
			secret := randomOf(lettersOf(kind.of), kind.least, random)
			if !kind.exact {
				secret += "2222" // What ends a sentence is not counted.
			}

			for before, after := range map[string]string{
				"": "", "the ": " is unknown", `"`: `"`, "(": ").", "x\n": "\n", `a\n`: `\n`,
				"%22": "%22", "id=": "&a=b",
			} {
				if got, want := withoutTokens(before+prefix+secret+after), before+mark+after; got != want {
					t.Errorf("%s: got %q, want %q", prefix, got, want)
				}
			}

			for _, ordinary := range []string{prefix, prefix + secret[:kind.least/2] + "!",
				"the " + prefix + " prefix"} {
				if got := withoutTokens(ordinary); got != ordinary {
					t.Errorf("%s: %q became %q", prefix, ordinary, got)
				}
			}

			if word := "x" + prefix + secret; !kind.inside && wordLetters[prefix[0]] && tokenLen(word, 1) > 0 {
				t.Errorf("%s: a part of the word %q is no token", prefix, word)
			}
		}
	}
}

// TestNoTokens holds what begins like a token.
func TestNoTokens(t *testing.T) {
	for name, s := range map[string]string{
		"Longer": "SK0123456789abcdef0123456789abcdef0123 and md50123456789abcdef0123456789abcdefg",
		"Object": "encryption-key-0123456789abcdef0123456789abcdef and signing_key-0123456789abcdef0123456789abcdef",
		"Digest": "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef, " +
			"md5:0123456789abcdef0123456789abcdef",
		"Variable": "npm_config_registry, NPM_CONFIG_CACHE, npm_lifecycle_event",
		"Continue": "continue=" + continued + "djEiLCJydiI6OTE4MjczNjQ1fQ&limit=500",
		"Names":    "sk-learn-operator-7f9c4d5b6-x2k9p-and-some-more, dapio, task-or-project-with-a-name-that-is-long",
	} {
		t.Run(name, func(t *testing.T) {
			if got := withoutTokens(s); got != s {
				t.Errorf("%q became %q", s, got)
			}
		})
	}
}
