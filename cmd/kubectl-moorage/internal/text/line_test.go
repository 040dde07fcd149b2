package text_test

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/moorage-dev/moorage/cmd/kubectl-moorage/internal/text"
)

func TestLine(t *testing.T) {
	cases := map[string]struct{ reason, in, want string }{
		"Plain":     {"nothing is to be done", "differs in maxAge", "differs in maxAge"},
		"Breaks":    {"one line", "a\nb\r\nc\td\u2028e\u0085", "a b  c d e"},
		"Escapes":   {"no terminal is controlled", "\x1b[31mred\x07\x9b1m\u009b", "[31mred\ufffd1m"},
		"Direction": {"no text is turned", "a\u202eb\u2066c\u200f", "abc"},
		"NotUTF8":   {"a valid text", "a\xff\xfeb", "a\ufffdb"},
		"Letters":   {"other languages stay", "größe 大きさ", "größe 大きさ"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := text.Line(tc.in); got != tc.want {
				t.Errorf("%s: Line(%q) is %q, want %q", tc.reason, tc.in, got, tc.want)
			}
		})
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\n\x1b[31m\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		got := text.Line(s)
		if !utf8.ValidString(got) || got != text.Line(got) {
			t.Errorf("Line(%q) is %q", s, got)
		}

		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
				t.Errorf("Line(%q) has %q", s, r)
			}
		}
	})
}

func TestShort(t *testing.T) {
	if got := text.Short("größer", 5); got != "gr..." {
		t.Errorf("got %q", got)
	}

	if got := text.Short("größe", 5); got != "größe" {
		t.Errorf("got %q", got)
	}
}

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"ReconcileError": "ReconcileError", "": "", "all is well": `"all is well"`, "a\nb": `"a b"`, "größe": `"größe"`,
		`x"`: `"x\""`,
	} {
		if got := text.Word(in); got != want {
			t.Errorf("Word(%q) is %s, want %s", in, got, want)
		}
	}
}
