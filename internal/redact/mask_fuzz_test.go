package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// encodings are the ways in which a secret comes back. The arguments are the
// secret and what is packed together with it.
var encodings = []func(secret, before, after string) string{
	func(s, _, _ string) string { return s },
	func(s, _, _ string) string { return url.QueryEscape(s) },
	func(s, _, _ string) string { return url.PathEscape(s) },
	func(s, _, _ string) string { return url.QueryEscape(url.QueryEscape(s)) },
	func(s, _, _ string) string { return inJSON(s) },
	func(s, _, _ string) string { return inJSON(inJSON(s)) },
	func(s, _, _ string) string { return strconv.Quote(s) },
	func(s, _, _ string) string { return strconv.Quote(strconv.QuoteToASCII(s)) },
	func(s, _, _ string) string { return url.QueryEscape(inJSON(s)) },
	func(s, _, _ string) string { return inJSON(url.PathEscape(s)) },
	func(s, b, a string) string { return base64.StdEncoding.EncodeToString([]byte(b + s + a)) },
	func(s, b, a string) string { return base64.URLEncoding.EncodeToString([]byte(b + s + a)) },
	func(s, b, a string) string { return base64.RawStdEncoding.EncodeToString([]byte(b + s + a)) },
	func(s, b, a string) string { return base64.RawURLEncoding.EncodeToString([]byte(b + s + a)) },
	func(s, b, a string) string {
		return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(b + s + a)))
	},
	func(s, b, a string) string {
		return base64.StdEncoding.EncodeToString([]byte(a + base64.StdEncoding.EncodeToString([]byte(b+s)) + a))
	},
	func(s, _, _ string) string { return hex.EncodeToString([]byte(s)) },
	func(s, _, _ string) string { return fmt.Sprintf("%X", s) },
	func(s, _, _ string) string { return fmt.Sprintf("% x", s) },
	func(s, _, _ string) string { return fmt.Sprint([]byte(s)) },
	func(s, _, _ string) string { return fmt.Sprintf("%#v", []byte(s)) },
	func(s, _, _ string) string { return separated(s, "%02x", ":") },
	func(s, _, _ string) string { return separated(s, "%02X", ":") },
	func(s, _, _ string) string { return separated(s, `\%03o`, "") },
	octal,
	func(s, _, _ string) string { return inJSON(octal(s, "", "")) },
	func(s, _, _ string) string { return strings.ReplaceAll(s, `"`, `""`) },
	func(s, _, _ string) string { return inJSON(strings.ReplaceAll(s, "'", "''")) },
	func(s, _, _ string) string { return strings.ReplaceAll(s, `'`, `'\''`) },
	func(s, b, a string) string {
		return base64.StdEncoding.EncodeToString([]byte(b + url.QueryEscape(s) + a))
	},
	func(s, _, _ string) string { return strings.ToUpper(s) },
	func(s, _, _ string) string { return html.EscapeString(s) },
	func(s, _, _ string) string { return url.QueryEscape(html.EscapeString(s)) },
	func(s, _, _ string) string { return inJSON(html.EscapeString(html.EscapeString(s))) },
}

// octal returns s as git and psql quote it.
func octal(s, _, _ string) string {
	var b strings.Builder

	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '\\' {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}

	return b.String()
}

// breaks are what stands between the parts of a text that was broken.
var breaks = []string{"", "\n", "\r\n\t", " ", "\\\n"}

// canaries do not occur in texts by accident.
var canaries = []string{
	canary, "zQ7/+vK9==wX", awkward, "qj\xff\xfeZx8\x00vvKp", "ключ-Ж7", "a%\\\"Zq\u2028<>&'9k", "kV\"7'xQ'\"z9",
	"Kd7\nLw8\r\nMv9\tNx", `W:\new\user\0x41%zz`,
}

func FuzzMask(f *testing.F) {
	for i := range encodings {
		f.Add("cannot use ", " here", uint8(i%len(canaries)), uint8(i), uint8(i), uint8(7), uint16(0))
	}

	f.Add("100%", "41", uint8(0), uint8(0), uint8(0), uint8(0), uint16(MaxLen-10))
	f.Add(`a\`, `u0041`, uint8(2), uint8(4), uint8(0), uint8(0), uint16(windows*MaxLen-10))

	f.Fuzz(func(t *testing.T, before, after string, secret, encoding, brk, every uint8, pad uint16) {
		s := canaries[int(secret)%len(canaries)]
		encode, b, a := encodings[int(encoding)%len(encodings)], before[:min(len(before), 5)], after[:min(len(after),
			5)]
		form, other := encode(s, b, a), encode(s, changed(b), changed(a))
		before = strings.Repeat("p ", int(pad)/2) + before
		text := before + broken(form, breaks[int(brk)%len(breaks)], int(every)) + after

		m := NewMask([]byte("another"), []byte(s))

		for name, got := range map[string]string{"Text": m.Text(text), "String": m.String(text)} {
			lone := strings.NewReplacer("\\\n", "", "\r", "", "\n", "", "\t", "", " ", "", "\ufffd", "").Replace(got)

			for _, part := range parts(s, form, other) {
				if strings.Contains(lone, part) && !strings.Contains(before+after, part) {
					t.Fatalf("%s: %q of %q survives in %q -> %q", name, part, s, text, got)
				}
			}
		}

		if got := m.String(text); len(got) > MaxLen || !utf8.ValidString(got) || m.String(got) != got {
			t.Fatalf("%d bytes, or not valid, or not stable: %q -> %q -> %q", len(got), text, got, m.String(got))
		}
	})
}

// changed returns as many other bytes.
func changed(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] ^= 0x3f
	}

	return string(b)
}

// broken returns s with the break after every so many characters.
func broken(s, brk string, every int) string {
	if every == 0 || brk == "" {
		return s
	}

	var b strings.Builder

	n := 0
	for i := range s {
		if n++; n > every {
			b.WriteString(brk)

			n = 1
		}

		_, size := utf8.DecodeRuneInString(s[i:])
		b.WriteString(s[i : i+size])
	}

	return b.String()
}

// parts returns the secret, and every run of eight bytes that its form has
// whatever it was packed with.
func parts(s, form, other string) []string {
	const run = 8

	all := []string{s}
	spaceless := func(s string) string { return strings.Join(strings.Fields(s), "") }

	form, other = spaceless(form), spaceless(other)
	for i := 0; i+run <= len(form); i++ {
		if part := form[i : i+run]; strings.Contains(other, part) {
			all = append(all, part)
		}
	}

	return all
}

// survivors returns how often a form of a secret is in what is left of a text. What the
// mark and its neighbours look like together is no part of what was there: "]" is also the
// end of the mark.
func survivors(masked, form string) int {
	n := 0
	for _, left := range strings.Split(masked, mark) {
		n += strings.Count(left, form)
	}

	return n
}

// FuzzSecret takes any bytes for a secret.
func FuzzSecret(f *testing.F) {
	for _, s := range canaries {
		f.Add([]byte(s), "a ", " b")
	}

	f.Add([]byte("hunter%4"), "%", "1")
	f.Add([]byte("\\hunter\\u00"), "\\", "41")
	f.Add([]byte(`{"password":"a\u0000bcdef"}`), "", "")
	f.Add([]byte("++++++"), "+", "+")
	f.Add([]byte("hunter&#6"), "&", "0;")
	f.Add([]byte("hunter%26"), "", "lt;")

	f.Fuzz(func(t *testing.T, secret []byte, before, after string) {
		m := NewMask(secret)

		s := strings.TrimSpace(string(secret))
		if len(s) < minSecret || strings.Contains(mark, s) {
			return
		}

		for i, encode := range slices.Concat(encodings[:6], encodings[len(encodings)-4:len(encodings)-1]) {
			form := encode(s, "", "")
			if got := m.Text(before + form + after); survivors(got,
				form) > strings.Count(before+after+mark+before+mark+after, form) {
				t.Fatalf("%d: %q survives in %q -> %q", i, form, before+form+after, got)
			}
		}
	})
}
