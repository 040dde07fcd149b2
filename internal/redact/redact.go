// Package redact removes secrets from the texts of errors before they reach a condition, an event or a log, and
// limits their length. Begin with String for a text, Error for an error, and NewMask for known secrets.
//
// String finds a secret by its place or by its shape. These are the places: the userinfo of a URL; the value of a
// header, of a flag, or of a key such as password or token; an XML element; a PEM block; a SQL statement. Shapes are
// JSON web tokens, NATS seeds, and the public formats of keys of well-known services. A Mask finds known secrets, such
// as the credentials of a client, anywhere and in many forms.
//
// String is a safety net without a guarantee. It does not find a secret that looks like a word, an ID or a digest and
// is in the middle of a sentence. testdata/secrets.txt has 47 shapes of secrets, and a test lists the shapes that are
// not found. In doubt String redacts too much, but the 200 usual errors of testdata/ordinary.txt stay unchanged.
//
// All functions may be called concurrently. They read the first 8 KiB of a text, in linear time.
package redact

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
)

// MaxLen is the maximum length of a redacted text, in bytes.
const MaxLen = 1024

const (
	// mark replaces a secret.
	mark = "[REDACTED]"

	// cutMark ends a text that was too long.
	cutMark = "... (truncated)"

	// windows is how much of a text is read, in multiples of its bound. It exceeds the
	// bound by far, so that the text after a redacted key or certificate is kept.
	windows = 8

	// margin is how much is dropped before the end of a truncated window: a secret
	// that is found by its shape may be incomplete there. Such a secret has at most a
	// hundred bytes.
	margin = 256

	// rounds bounds how often a changed text is redacted again. Two are usual.
	rounds = 8
)

// String returns s without its secrets, as valid UTF-8 of at most MaxLen bytes. It replaces control characters except
// newline and tab. It is idempotent.
func String(s string) string {
	return Long(s, MaxLen)
}

// Long does the same as the function String, with another maximum length in bytes. The argument limit must be at least
// 64. Long reads at most eight times as many bytes.
func Long(s string, limit int) string {
	seen := s[:min(len(s), windows*limit)]

	return long(seen, limit, len(seen) < len(s))
}

// long redacts and bounds s. If cut, s was longer.
func long(s string, limit int, cut bool) string {
	before := printable(s)
	s = without(before, cut)

	if cut {
		s = s[:max(0, len(s)-margin)]
	}

	s = bounded(s, limit, cut)

	// After a redaction or a cut, a key can stand before another value. Repeat until
	// nothing changes.
	for n := 0; n < rounds && s != before; n++ {
		before, s = s, bounded(without(s, false), limit, false)
	}

	return s
}

// without returns s without the secrets that are found by place or shape. If cut is true, s was truncated.
func without(s string, cut bool) string {
	// Blocks are first: all their content is secret. Shapes are last: the rest of a line
	// may have been redacted with its key.
	s = withoutBlocks(s)
	s = withoutUserinfo(s, cut)
	s = withoutPlaced(s)
	s = withoutKeyed(s)
	s = withoutSchemes(s)

	return withoutTokens(s)
}

// Error returns an error with the redacted text of err. For nil it returns nil. errors.Is and errors.As have the same
// results for the returned error as for err. The returned error can neither be unwrapped to err, nor print it.
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

// IsRedacted reports whether err itself was made by Error. An error that wraps a result of Error does not count.
func IsRedacted(err error) bool {
	_, ok := err.(*redacted) //nolint:errorlint // only what is redacted as a whole

	return ok
}

// redacted keeps the original error in closures, which formatting verbs do not print.
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

// printable replaces invalid UTF-8 and control characters. The replacement is no space,
// because it must not divide a secret in two.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}

		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
}

// bounded truncates s so that it fits with the cut mark. If cut is true, s was truncated before, and gets the cut
// mark even if it fits. A character that is cut in two is dropped.
func bounded(s string, limit int, cut bool) string {
	if len(s) <= limit && !cut {
		return s
	}

	return strings.ToValidUTF8(s[:min(len(s), limit-len(cutMark))], "") + cutMark
}
