// Package text makes the text of other programs safe for a terminal, and lays out tables. Start with [Line].
package text

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s on one line, without characters that control a terminal or change the direction of the text. Line
// breaks and tabs become spaces, and bytes that are not valid UTF-8 become U+FFFD.
func Line(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t', unicode.In(r, unicode.Zl, unicode.Zp):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}

		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError))))
}

// Quote returns s in quotes, on one line: a text of another program, for a sentence of this one.
func Quote(s string) string { return strconv.Quote(Line(s)) }

// Word returns s if it consists of letters and digits, as the type, the status and the reason of a condition do. Any
// other text is quoted.
func Word(s string) string {
	for _, r := range s {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return Quote(s)
		}
	}

	return s
}

// Short returns s with at most n characters. A longer text ends with "...".
func Short(s string, n int) string {
	const end = "..."

	runes := []rune(s)
	if len(runes) <= n {
		return s
	}

	return string(runes[:max(0, n-len(end))]) + end
}
