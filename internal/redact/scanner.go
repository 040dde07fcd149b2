package redact

import (
	"unicode"
	"unicode/utf8"
)

// junk is what scan returns for characters that are ignored: space, control characters, broken
// bytes, the backslashes of escapes, and the plus sign, which is a space in a
// query.
const junk rune = -1

// A folding determines where a line break may divide a secret. The foldings read a few texts differently, such as a
// backslash before a newline and an n.
type folding int

const (
	foldBetween   folding = iota // Between two units only.
	foldAnywhere                 // Within an escape as well.
	foldContinued                // Within an escape as well, behind a backslash.

	foldings // How many there are.
)

// scan reads one character at s[i], and returns it with the index after it. It decodes the character however often it
// is escaped. Patterns and texts are read in the same way, so they match even if they are escaped differently. Upper
// case is read as lower case.
func scan(s string, i int, fold folding) (rune, int) {
	if c := s[i]; c < utf8.RuneSelf && c != '%' && c != '\\' && c != '&' {
		return canonicalASCII[c], i + 1
	}

	r, next := character(s, i, fold)
	for r == '&' {
		e, after, ok := entity(s, next, fold)
		if !ok {
			break
		}

		if e == '\\' {
			return slashed(s, after, fold)
		}

		r, next = e, after // An ampersand that was escaped again.
	}

	return r, next
}

// character is scan without the escapes of HTML.
func character(s string, i int, fold folding) (rune, int) {
	switch c := s[i]; {
	case c == '%':
		b, next, ok := percent(s, i, fold)
		if !ok {
			return '%', i + 1
		}

		if b == '\\' {
			return slashed(s, i, fold)
		}

		return gathered(s, b, next, fold)
	case c == '\\':
		// A continued line comes before a letter, but escapes none.
		if j := unfolded(s, i, fold); j > i {
			return junk, j
		}

		return slashed(s, i, fold)
	case c < utf8.RuneSelf:
		return canonical(rune(c)), i + 1
	default:
		r, n := utf8.DecodeRuneInString(s[i:])

		return canonical(r), i + n
	}
}

// canonicalASCII has the results of canonical for ASCII.
var canonicalASCII = func() (all [utf8.RuneSelf]rune) {
	for c := range all {
		all[c] = canonical(rune(c))
	}

	return all
}()

// canonical returns r in lower case, or junk.
func canonical(r rune) rune {
	switch {
	case r >= 'A' && r <= 'Z':
		return r + 'a' - 'A'
	case r > ' ' && r < 0x7f && r != '+' && r != '\\':
		return r
	case r <= 0x7f, r == utf8.RuneError, unicode.IsSpace(r), unicode.In(r, unicode.Cc, unicode.Cf):
		return junk
	default:
		return unicode.ToLower(unicode.ToUpper(r)) // Some small letters share a capital one.
	}
}

// percent reads the byte that is escaped at s[i], a percent sign. One that was
// escaped several times has 25 in front of its digits, the code of that sign.
func percent(s string, i int, fold folding) (b byte, next int, ok bool) {
	v, next, ok := digits(s, i+1, 2, fold)
	for ok && v == '%' {
		inner, after, more := digits(s, next, 2, fold)
		if !more {
			break
		}

		v, next = inner, after
	}

	return byte(v), next, ok
}

// digits reads n hexadecimal digits at s[i].
func digits(s string, i, n int, fold folding) (v rune, next int, ok bool) {
	for range n {
		i = unfolded(s, i, fold)
		if i >= len(s) {
			return 0, i, false
		}

		d := digit(s[i])
		if d < 0 {
			return 0, i, false
		}

		v = v<<4 | d
		i++
	}

	return v, i, true
}

func digit(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	default:
		return -1
	}
}

// unfolded returns the index of what is at s[i] behind the break of a line.
func unfolded(s string, i int, fold folding) int {
	for fold != foldBetween && i < len(s) {
		switch j := i + 1; {
		case isSpace(s[i]):
		case fold == foldContinued && s[i] == '\\' && j < len(s) && (s[j] == '\n' || s[j] == '\r'):
		default:
			return i
		}

		i++
	}

	return i
}

// slashed reads the escape at s[i], after one backslash or more: each time a text is
// quoted, their number doubles.
func slashed(s string, i int, fold folding) (rune, int) {
	for {
		i = behindSlashes(s, i, fold)
		if i >= len(s) {
			return junk, i
		}

		switch c, next := plain(s, i, fold); c {
		case 'a', 'b', 'f', 'n', 'r', 't', 'v':
			return junk, next
		case 'x':
			v, after, ok := digits(s, next, 2, fold)
			if !ok {
				return junk, i
			}

			if v != '\\' {
				return gathered(s, byte(v), after, fold)
			}

			i = after
		case 'u', 'U':
			r, after, ok := escapedRune(s, next, c, fold)
			if !ok {
				return junk, i
			}

			if r != '\\' {
				return canonical(r), after
			}

			i = after
		case '0', '1', '2', '3':
			b, after, ok := octalByte(c, s, next, fold)
			if !ok {
				return junk, i
			}

			if b != '\\' {
				return gathered(s, b, after, fold)
			}

			i = after
		default:
			return junk, i
		}
	}
}

// octalByte reads the byte whose first digit is c, before s[i], and whose others are at s[i].
func octalByte(c byte, s string, i int, fold folding) (b byte, next int, ok bool) {
	b = c - '0'

	for range 2 {
		i = unfolded(s, i, fold)
		if i >= len(s) || s[i] < '0' || s[i] > '7' {
			return 0, i, false
		}

		b = b<<3 | (s[i] - '0')
		i++
	}

	return b, i, true
}

func behindSlashes(s string, i int, fold folding) int {
	for i < len(s) {
		c, next := plain(s, i, fold)
		if c != '\\' {
			break
		}

		i = unfolded(s, next, fold)
	}

	return i
}

// plain reads a byte that may be escaped by a percent sign.
func plain(s string, i int, fold folding) (byte, int) {
	if s[i] == '%' {
		if b, next, ok := percent(s, i, fold); ok {
			return b, next
		}
	}

	return s[i], i + 1
}

// escapedRune reads the digits behind a u or U at s[i]. Half of a pair is junk
// without the other half.
func escapedRune(s string, i int, c byte, fold folding) (r rune, next int, ok bool) {
	n := 4
	if c == 'U' {
		n = 8
	}

	r, next, ok = digits(s, i, n, fold)
	if !ok || r < 0xD800 || r > 0xDBFF {
		return r, next, ok
	}

	if j := behindSlashes(s, next, fold); j > next && j < len(s) && s[j] == 'u' {
		if low, after, more := digits(s, j+1, 4, fold); more && low >= 0xDC00 && low <= 0xDFFF {
			return (r-0xD800)<<10 | (low - 0xDC00) + 0x10000, after, true
		}
	}

	return utf8.RuneError, next, true
}

// gathered reads the character that begins with the escaped byte b and continues at s[i]
// with other escaped bytes.
func gathered(s string, b byte, i int, fold folding) (rune, int) {
	if b < utf8.RuneSelf {
		return canonical(rune(b)), i
	}

	buf, j := []byte{b}, i
	for len(buf) < utf8.UTFMax && !utf8.FullRune(buf) {
		more, next, ok := escapedByte(s, j, fold)
		if !ok {
			return junk, i
		}

		buf, j = append(buf, more), next
	}

	r, n := utf8.DecodeRune(buf)
	if n != len(buf) {
		return junk, i
	}

	return canonical(r), j
}

func escapedByte(s string, i int, fold folding) (b byte, next int, ok bool) {
	i = unfolded(s, i, fold)

	switch {
	case i >= len(s):
		return 0, i, false
	case s[i] == '%':
		if b, next, ok = percent(s, i, fold); ok && b != '\\' {
			return b, next, true
		}
	}

	j := behindSlashes(s, i, fold)

	switch {
	case j == i || j >= len(s):
		return 0, i, false
	case s[j] >= '0' && s[j] <= '3':
		return octalByte(s[j], s, j+1, fold)
	case s[j] != 'x':
		return 0, i, false
	}

	v, next, ok := digits(s, j+1, 2, fold)

	return byte(v), next, ok
}
