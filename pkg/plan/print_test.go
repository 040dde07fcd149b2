package plan

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzOneLine: no text of others changes what a terminal shows besides its cell.
func FuzzOneLine(f *testing.F) {
	for _, seed := range []string{"", "a b", "a\nb\tc", "\x1b]0;title\x07", "\u202eabc", "\xff\xfe", "a\u2028b\u00a0c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := oneLine(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool {
			return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
		}) {
			t.Errorf("%q", got)
		}
		if again := oneLine(got); again != got {
			t.Errorf("%q, then %q", got, again)
		}
	})
}
