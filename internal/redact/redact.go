// Package redact makes text fit to be shown: it takes secrets out of errors
// before they reach a condition, an event or a log, and bounds their length.
//
// It knows secrets by where they stand (userinfo of a URL, the value of a
// header, of a key such as password or token, a PEM block) and by how they look
// (JSON web tokens, NATS seeds, keys of well-known services). That is a safety
// net, no proof: a secret that stands in the middle of a sentence and looks like
// a word is not found. Where it is in doubt it rather takes out too much, but
// the usual errors of Kubernetes pass unchanged.
//
// All functions may be called concurrently. They look at the first 8 KiB of a
// text and take time linear in that.
package redact

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
)

// MaxLen is the greatest length of a redacted text, in bytes.
const MaxLen = 1024

const (
	// mark stands where a secret was.
	mark = "[REDACTED]"

	// cutMark ends a text that was too long.
	cutMark = "... (truncated)"

	// window is how much of a text is looked at. It exceeds MaxLen by far, so
	// that what follows a redacted key or certificate is still told.
	window = 8 << 10

	// margin is what is dropped before the end of a window that was cut: a
	// secret known by its look may have lost the rest of it there. The longest
	// that must be complete to be known is a NATS seed, 58 bytes.
	margin = 256
)

// String returns s without its secrets, as valid UTF-8 of at most MaxLen bytes.
// Control characters other than newline and tab are replaced.
func String(s string) string {
	cut := len(s) > window
	s = printable(s[:min(len(s), window)])

	// Blocks go first: they are secret whatever stands in them. What is known
	// by its look goes last: the rest of a line may have gone with its key.
	s = withoutBlocks(s)
	s = withoutUserinfo(s, cut)
	s = withoutKeyed(s)
	s = withoutSchemes(s)
	s = withoutShapes(s)

	if cut {
		return shortened(s[:max(0, len(s)-margin)])
	}

	if len(s) > MaxLen {
		return shortened(s)
	}

	return s
}

// Error returns an error with the text of err after String. It answers
// errors.Is and errors.As as err does, but err itself cannot be unwrapped or
// printed through it. A nil error stays nil.
func Error(err error) error {
	if err == nil {
		return nil
	}

	if r, ok := err.(*redacted); ok { //nolint:errorlint // Only what is redacted as a whole needs no more of it.
		return r
	}

	return &redacted{
		text: String(err.Error()),
		is:   func(target error) bool { return errors.Is(err, target) },
		as:   func(target any) bool { return errors.As(err, target) },
	}
}

// redacted keeps the original error in closures, where no formatting verb looks.
type redacted struct {
	text string
	is   func(target error) bool
	as   func(target any) bool
}

// Error returns the redacted text.
func (r *redacted) Error() string { return r.text }

// Is reports whether the original error matches the target.
func (r *redacted) Is(target error) bool { return r.is(target) }

// As finds the target in the original error.
func (r *redacted) As(target any) bool { return r.as(target) }

// GoString returns the redacted text, quoted.
func (r *redacted) GoString() string { return strconv.Quote(r.text) }

// printable replaces what is no text. The replacement is no space: it must not
// divide a secret in two.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}

		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

// shortened cuts s so that it fits with the cut mark. A character cut in two is
// dropped.
func shortened(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), MaxLen-len(cutMark))], "") + cutMark
}
