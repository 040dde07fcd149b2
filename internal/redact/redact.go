// Package redact makes text fit to be shown: it takes secrets out of errors
// before they reach a condition, an event or a log, and bounds their length.
//
// It knows secrets by where they stand (userinfo of a URL, the value of a
// header, of a key such as password or token, of a flag, of an element of XML, a
// PEM block, a statement of SQL) and by how they look (JSON web tokens, NATS
// seeds, the public formats of keys of well-known services). That is a safety
// net, no proof: a secret that stands in the middle of a sentence and looks like
// a word, an id or a digest is not found. testdata/secrets.txt has 47 shapes of
// secrets, and a test the names of those that pass. Where it is in doubt it
// rather takes out too much, but the 200 usual errors of testdata/ordinary.txt
// pass unchanged.
//
// Secrets that are known, because a client was made from them, are found anywhere
// and in many forms by a Mask.
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

	// windows is how much of a text is looked at, in multiples of its bound. It
	// exceeds that by far, so that what follows a redacted key or certificate is
	// still told.
	windows = 8

	// margin is what is dropped before the end of a window that was cut: a
	// secret known by its look may have lost the rest of it there. None that must
	// be complete to be known has more than a hundred bytes.
	margin = 256

	// rounds is how often a text is looked at again that has changed. Two rounds
	// are the rule.
	rounds = 8
)

// String returns s without its secrets, as valid UTF-8 of at most MaxLen bytes.
// Control characters other than newline and tab are replaced. What it returned
// once stays as it is.
func String(s string) string {
	return lately.say(of(digest{}, s), func() string { return Long(s, MaxLen) })
}

// Long is String with another bound, which must be at least 64 bytes. It looks at
// the first eight times as many.
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

	// What was taken out, or cut off, can show a key to stand before something
	// else. Once nothing changes any more, that is over.
	for n := 0; n < rounds && s != before; n++ {
		before, s = s, bounded(without(s, false), limit, false)
	}

	return s
}

// without returns s without what is secret by its place or look. If cut, the end
// of s is not where the text ended.
func without(s string, cut bool) string {
	// Blocks go first: they are secret whatever stands in them. What is known
	// by its look goes last: the rest of a line may have gone with its key.
	s = withoutBlocks(s)
	s = withoutUserinfo(s, cut)
	s = withoutPlaced(s)
	s = withoutKeyed(s)
	s = withoutSchemes(s)

	return withoutTokens(s)
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

// IsRedacted reports whether err as a whole was made by Error.
func IsRedacted(err error) bool {
	_, ok := err.(*redacted) //nolint:errorlint // only what is redacted as a whole

	return ok
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

// bounded cuts s so that it fits with the cut mark, which it gets in any case if
// it was cut already. A character cut in two is dropped.
func bounded(s string, limit int, cut bool) string {
	if len(s) <= limit && !cut {
		return s
	}

	return strings.ToValidUTF8(s[:min(len(s), limit-len(cutMark))], "") + cutMark
}
