package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// awkward needs escaping everywhere, and holds what looks like escapes.
const awkward = "gr\u00fc\u00dfe&<\"41\\n%41/%2F\tq?=x"

func TestMaskText(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString
	auth := b64([]byte("user:" + canary))
	key := "-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END X-----\n"

	cases := map[string]struct {
		reason string
		secret string
		in     string
		want   string
	}{
		"Raw": {
			reason: "The value itself goes.", in: "user " + canary + " is unknown",
			want: "user [REDACTED] is unknown",
		},
		"Twice": {
			reason: "Wherever it stands.", in: canary + canary + "-" + canary,
			want: "[REDACTED][REDACTED]-[REDACTED]",
		},
		"Absent": {reason: "Nothing else changes.", in: "a\x00b % \\ 100%\n", want: "a\x00b % \\ 100%\n"},
		"Short": {
			reason: "What is too short would be found everywhere.", secret: "admin", in: "admin",
			want: "admin",
		},
		"Spaces": {
			reason: "A Secret often ends with a new line, its value does not.",
			secret: "  hunter2\n", in: "pass hunter2 on", want: "pass [REDACTED] on",
		},
		"Query": {
			reason: "A URL escapes it.", secret: awkward,
			in: "?a=" + url.QueryEscape(awkward) + "&b=1", want: "?a=[REDACTED]&b=1",
		},
		"Path": {
			reason: "Or escapes it differently.", secret: awkward,
			in: "/a/" + url.PathEscape(awkward) + "/b", want: "/a/[REDACTED]/b",
		},
		"PathTwice": {
			reason: "A proxy escapes again.", secret: awkward,
			in: url.PathEscape(url.PathEscape(awkward)) + "/b", want: "[REDACTED]/b",
		},
		"AllPercent": {
			reason: "What need not be escaped can be.", secret: "hunter2",
			in: "%68%75%6e%74%65%72%32!", want: "[REDACTED]!",
		},
		"AfterPercent": {
			reason: "What is before can look like the begin of an escape.", secret: "41hunter2",
			in: "100%41hunter2", want: "100%[REDACTED]",
		},
		"AfterSlash": {
			reason: "With a backslash as well.", secret: "number1", in: `a\number1`,
			want: `a\[REDACTED]`,
		},
		"JSON": {
			reason: "JSON escapes it.", secret: awkward, in: `{"a":"` + inJSON(awkward) + `"}`,
			want: `{"a":"[REDACTED]"}`,
		},
		"JSONInJSON": {
			reason: "A text in a text twice.", secret: awkward, in: inJSON(inJSON(awkward)) + `\"`,
			want: `[REDACTED]\"`,
		},
		"JSONUnicode": {
			reason: "Any character can be escaped.", secret: "hunter\U0001F5DD",
			in: `\u0068\u0075nter\ud83d\udddd!`, want: "[REDACTED]!",
		},
		"HTML": {
			reason: "A page escapes it.", secret: awkward,
			in: "<p>" + html.EscapeString(awkward) + "</p>", want: "<p>[REDACTED]</p>",
		},
		"HTMLTwice": {
			reason: "Also twice.", secret: awkward,
			in:   "<p>" + html.EscapeString(html.EscapeString(awkward)) + "</p>",
			want: "<p>[REDACTED]</p>",
		},
		"HTMLInJSON": {
			reason: "And JSON escapes the ampersands.", secret: awkward,
			in: `{"a":"` + inJSON(html.EscapeString(awkward)) + `"}`, want: `{"a":"[REDACTED]"}`,
		},
		"HTMLNumbers": {
			reason: "Any character can be escaped.", secret: "hunt>2'<ü",
			in: "&#104;unt&gt;2&apos;&#x3C;&#xFc;!", want: "[REDACTED]!",
		},
		"HTMLFolded": {
			reason: "A line break within does not hide it.", secret: "hunt>er2",
			in: "hunt&g\nt;er2", want: "[REDACTED]",
		},
		"HTMLEnd": {
			reason: "What ends like an escape goes as a whole.", secret: "hunter&l",
			in: "hunter&lt; hunter&lz", want: "[REDACTED]t; [REDACTED]z",
		},
		"HTMLInside": {
			reason: "What begins within an escape is found.", secret: "lt;hunter2",
			in: "&lt;hunter2", want: "&[REDACTED]",
		},
		"CutHTML": {
			reason: "Or cut an escape of HTML.", secret: "hunter2x>z", in: "hunter2x&g",
			want: "[REDACTED]",
		},
		"Upper": {
			reason: "Somebody shouts.", in: "USER " + strings.ToUpper(canary) + " IS UNKNOWN",
			want: "USER [REDACTED] IS UNKNOWN",
		},
		"Title": {
			reason: "Headers get capital letters.", secret: "hunter-two-x", in: "Hunter-Two-X: y",
			want: "[REDACTED]: y",
		},
		"UpperForeign": {reason: "In other alphabets, too.", secret: "пароль-ς", in: "ПАРОЛЬ-Σ!", want: "[REDACTED]!"},
		"UpperSlash": {
			reason: "A capital letter escapes nothing.", secret: `W:\new\user`, in: `W:\NEW\USER`,
			want: `[REDACTED]`,
		},
		"UpperQuery": {
			reason: "Escapes do not change it.", secret: awkward,
			in: "?a=" + url.QueryEscape(strings.ToUpper(awkward)), want: "?a=[REDACTED]",
		},
		"Quoted": {
			reason: "So does %q.", secret: "\xff\xfehunter2\x00",
			in: strconv.Quote("\xff\xfehunter2\x00"), want: `"[REDACTED]"`,
		},
		"QuotedASCII": {reason: "And %+q.", secret: awkward, in: strconv.QuoteToASCII(awkward), want: `"[REDACTED]"`},
		"Foreign": {
			reason: "A value of another alphabet is one.", secret: "пароль",
			in:   `x пароль \u043f\u0430\u0440\u043e\u043b\u044c ` + url.QueryEscape("пароль"),
			want: "x [REDACTED] [REDACTED] [REDACTED]",
		},
		"Binary": {
			reason: "So is one that is no text.", secret: "\xff\xfe\xfd\xfc\xfb\xfaab",
			in: "a " + url.QueryEscape("\xff\xfe\xfd\xfc\xfb\xfaab"), want: "a [REDACTED]",
		},
		"Base64": {
			reason: "In base64 it goes with its padding.", in: "x " + b64([]byte(canary)) + " y",
			want: "x [REDACTED] y",
		},
		"Base64Inside": {reason: "Whatever was packed with it.", in: auth, want: "dXNlcj[REDACTED]"},
		"Base64InURL": {
			reason: "And escaped then.", secret: "hunt>>>er2???",
			in: url.QueryEscape(b64([]byte("hunt>>>er2???"))) + "&", want: "[REDACTED]%3D%3D&",
		},
		"Base64Twice": {
			reason: "A pull secret packs it twice.", in: b64([]byte(`{"auth":"` + auth + `"}`)),
			want: "eyJhdXRoIjoiZFhObGNqc[REDACTED]J9",
		},
		"Hex": {
			reason: "Digits tell it as well.", in: "%x " + hex.EncodeToString([]byte(canary)),
			want: "%x [REDACTED]",
		},
		"Bytes": {
			reason: "A forgotten conversion prints numbers.", in: fmt.Sprint([]byte(canary)),
			want: "[[REDACTED]]",
		},
		"BytesLiteral": {
			reason: "Or hexadecimal ones.", in: fmt.Sprintf("%#v", []byte(canary)),
			want: "[]byte{[REDACTED]}",
		},
		"ColonHex": {
			reason: "The bytes of a fingerprint have colons between.",
			in:     "id " + separated(canary, "%02x", ":") + " " + separated(canary, "%02X", ":"),
			want:   "id [REDACTED] [REDACTED]",
		},
		"Octal": {
			reason: "git and psql escape bytes in octal.", secret: "gr\u00fc\u00dfe\\x",
			in: `"gr\303\274\303\237e\134x"!`, want: `"[REDACTED]"!`,
		},
		"OctalBytes": {
			reason: "Any byte can be escaped.", in: separated(canary, `\%03o`, "") + "!",
			want: "[REDACTED]!",
		},
		"OctalEscapes": {
			reason: "Also those of what looks like an escape.", secret: `W:\new%41z`,
			in: separated(`W:\new%41z`, `\%03o`, "") + "!", want: "[REDACTED]!",
		},
		"OctalQuoted": {
			reason: "Also in a text that is quoted again.", secret: "gr\u00fc\u00dfe",
			in: `gr\\303\\274\\303\\237e`, want: `[REDACTED]`,
		},
		"OctalFolded": {
			reason: "A line break within does not hide it.", secret: "gr\u00fc\u00dfe",
			in: "gr\\303\\2\n74\\303\\237e", want: `[REDACTED]`,
		},
		"OctalLike": {
			reason: "What looks like an escape is read alike wherever it stands.",
			secret: `W:\123\202x\new`,
			in:     `W:\\123\\202x\\new, W:%5C123%5c202x%5Cnew, w:\123\202x\new`,
			want:   `[REDACTED], [REDACTED], [REDACTED]`,
		},
		"OctalInHTML": {
			reason: "Also where the backslash is escaped.", secret: `W:\123\102x<`,
			in: `W:\123\102x&lt; W:&#92;123&#x5C;102x&lt;`, want: `[REDACTED] [REDACTED]`,
		},
		"AfterOctal": {
			reason: "What is before can look like the begin of an escape.", secret: "123hunter",
			in: `a\123hunter`, want: `a\[REDACTED]`,
		},
		"CutOctal": {
			reason: "Or cut an escape of octal digits.", secret: "hunter2x\u00fcz",
			in: `hunter2x\30`, want: `[REDACTED]`,
		},
		"SQL": {
			reason: "SQL doubles single quotes.", secret: "it's 'hunter2'!",
			in: "IDENTIFIED BY 'it''s ''hunter2''!'", want: "IDENTIFIED BY '[REDACTED]'",
		},
		"CSV": {
			reason: "CSV and identifiers double the others.", secret: `a"hunter"2`,
			in: `"a""hunter""2",x`, want: `"[REDACTED]",x`,
		},
		"SQLInJSON": {
			reason: "And JSON escapes them.", secret: `a"hunter"2`, in: `{"q":"a\"\"hunter\"\"2"}`,
			want: `{"q":"[REDACTED]"}`,
		},
		"Shell": {
			reason: "A shell ends a string for one.", secret: "it's hunter2",
			in: `'it'\''s hunter2'`, want: `'[REDACTED]'`,
		},
		"OAuth": {
			reason: "OAuth escapes the secret of a client before it packs it.",
			secret: "hunter/2+x", in: b64([]byte("app:" + url.QueryEscape("hunter/2+x"))),
			want: "YXBwO[REDACTED]",
		},
		"Folded": {
			reason: "A line break does not hide it.", in: canary[:5] + "\r\n\t" + canary[5:],
			want: "[REDACTED]",
		},
		"Continued": {
			reason: "Nor does a continued line, printed again.",
			in:     canary[:5] + `\\\n` + canary[5:], want: "[REDACTED]",
		},
		"FoldedEscape": {
			reason: "Nor one within an escape.", secret: awkward,
			in: strings.ReplaceAll(url.PathEscape(awkward), "%", "%\n "), want: "[REDACTED]",
		},
		"Cut": {
			reason: "A beginning at the end is the secret.", in: "error: " + canary[:8],
			want: "error: [REDACTED]",
		},
		"CutShort": {
			reason: "Not with less than eight characters.", in: "error: " + canary[:7],
			want: "error: " + canary[:7],
		},
		"CutDots": {
			reason: "Somebody else cut the text.",
			in:     "body: " + canary[:9] + "... (truncated), status 500",
			want:   "body: [REDACTED]... (truncated), status 500",
		},
		"CutQuoted": {
			reason: "And closed it.", in: `body: {"a":"` + canary[:9] + `"}`,
			want: `body: {"a":"[REDACTED]"}`,
		},
		"CutEscape": {reason: "Or cut an escape.", secret: "hunter2xy\"z", in: `hunter2xy\`, want: `[REDACTED]`},
		"CutBase64": {reason: "Or what was packed.", in: b64([]byte(canary))[:10], want: "[REDACTED]"},
		"Line": {
			reason: "A line of it is secret, its frame is not.", secret: key,
			in:   "bad line AQEFAASCBKcwggSjAgEAAoIB after -----BEGIN X----- here",
			want: "bad line [REDACTED] after -----BEGIN X----- here",
		},
		"LongestWins": {
			reason: "A secret that begins another does not leave its rest.",
			secret: "hunter2" + "\n" + canary + canary, in: "hunter2" + canary + canary,
			want: "[REDACTED]",
		},
		"Mark": {
			reason: "What was masked is left alone.", secret: "REDACTED",
			in: "a [REDACTED] REDACTED", want: "a [REDACTED] [REDACTED]",
		},
		"HalfEscapeEnd": {
			reason: "What ends like an escape goes as a whole.", secret: "hunter%4",
			in: "hunter%41 hunter%4z", want: "[REDACTED]1 [REDACTED]z",
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			secret := tc.secret
			if secret == "" {
				secret = canary
			}

			m := NewMask([]byte(secret))
			if diff := cmp.Diff(tc.want, m.Text(tc.in)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want, m.Text(tc.want)); diff != "" {
				t.Errorf("%s\nA second time: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// separated prints each byte of a text, with something between.
func separated(s, verb, between string) string {
	var all []string
	for i := range len(s) {
		all = append(all, fmt.Sprintf(verb, s[i]))
	}

	return strings.Join(all, between)
}

func TestMaskString(t *testing.T) {
	m := NewMask([]byte(canary), nil, []byte("x"))

	cases := map[string]struct {
		reason string
		mask   *Mask
		in     string
		want   string
	}{
		"Both": {
			reason: "What is known goes, and what is known by its place.", mask: m,
			in: canary + " password=other", want: "[REDACTED] password=[REDACTED]",
		},
		"Nil": {
			reason: "Without a mask there are the patterns.", in: canary + " password=other",
			want: canary + " password=[REDACTED]",
		},
		"Zero": {reason: "A zero mask knows nothing.", mask: &Mask{}, in: canary, want: canary},
		"Huge": {
			reason: "What is beyond the window is not looked at.", mask: m,
			in: "password=" + strings.Repeat("x", 1<<20) + " end", want: cutMark,
		},
		"AtBound": {
			reason: "The bound does not save half of it.", mask: m,
			in:   strings.Repeat("p ", MaxLen/2-6) + canary + " end",
			want: strings.Repeat("p ", MaxLen/2-6)[:MaxLen-len(cutMark)] + cutMark,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.mask.String(tc.in)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMaskWindow slides a secret over the end of what is looked at, and over the
// end of what is kept.
func TestMaskWindow(t *testing.T) {
	m := NewMask([]byte(canary))

	for _, edge := range []int{MaxLen, windows * MaxLen} {
		for shift := range 2 * len(canary) {
			in := strings.Repeat("p", edge-shift) + canary + strings.Repeat(" t", MaxLen)
			// What is before the window vanishes, so that its end would be seen.
			in = "password=" + in[len("password="):edge/2] + " " + in[edge/2+1:]

			if got := m.String(in); len(got) > MaxLen || strings.Contains(got, canary[:3]) {
				t.Fatalf("%d before %d: %q", shift, edge, got)
			}
		}
	}
}

// TestMaskCut masks a text that is truncated.
func TestMaskCut(t *testing.T) {
	m := NewMask([]byte("\"" + canary))

	for in, want := range map[string]string{
		"x \"Hu":       "x [REDACTED]",
		`x \"Hu`:       `x \[REDACTED]`,
		`x \u0022\u00`: `x [REDACTED]`,
		"x %22H%":      "x [REDACTED]",
		"x \"Zz!":      "x \"Zz!",
	} {
		if diff := cmp.Diff(want, m.masked(in, true)); diff != "" {
			t.Errorf("%q: -want, +got:\n%s", in, diff)
		}
	}
}

// TestMaskOfSeveral has secrets that begin alike.
func TestMaskOfSeveral(t *testing.T) {
	for _, m := range []*Mask{NewMask([]byte("hunter2"), []byte("hunter2hunter3")),
		NewMask([]byte("hunter2hunter3"), []byte("hunter2"))} {
		if diff := cmp.Diff("[REDACTED] [REDACTED]", m.Text("hunter2hunter3 hunter2")); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	}
}

func TestMaskError(t *testing.T) {
	m := NewMask([]byte(canary))
	if err := m.Error(nil); err != nil {
		t.Errorf("Error(nil) = %v, want nil", err)
	}

	err := m.Error(Error(fmt.Errorf("cannot use %q: %w", canary, fs.ErrNotExist)))
	if diff := cmp.Diff(`cannot use "[REDACTED]": file does not exist`, err.Error()); diff != "" {
		t.Errorf("What was redacted without the mask: -want, +got:\n%s", diff)
	}

	if !errors.Is(err, fs.ErrNotExist) || errors.Unwrap(err) != nil {
		t.Error("The error must answer Is, and not be unwrapped")
	}

	if m.Error(err) != err { //nolint:errorlint // The very error must come back.
		t.Error("A masked error was masked again")
	}
}

// TestMaskIsSilent prints the mask itself.
func TestMaskIsSilent(t *testing.T) {
	m := NewMask([]byte(canary))
	m.Text("prepare it")

	asJSON, err := json.Marshal(m) //nolint:staticcheck // that nothing is exported is what is tested
	if err != nil {
		t.Fatal(err)
	}

	for _, got := range []string{fmt.Sprint(m), fmt.Sprintf("%+v %#v %s %q %x %d", m, m, m, m, m, m),
		fmt.Sprint(struct{ M *Mask }{m}), string(asJSON)} {
		if strings.Contains(got, canary) || strings.Contains(got, hex.EncodeToString([]byte(canary))) {
			t.Errorf("A mask shows its secret: %s", got)
		}
	}
}

// TestMaskCost fails when a text can be made that takes minutes.
func TestMaskCost(t *testing.T) {
	start := spent(t)
	m := NewMask([]byte(strings.Repeat("a", 4096)), []byte(strings.Repeat(`\n`, 2000)+"hunter2"),
		[]byte(strings.Repeat("%25", 2000)+"b"), []byte(strings.Repeat("'", 2000)+"b"))

	for _, unit := range []string{"a", "a ", `\n`, "%25", "%2525", "%", `\`, `\u005c`, `a\n`, " ", "YWFh", "61",
		"\xff", "ä", "&amp;", "&#38;#38;", "amp;", `\303`, `\0`, "&#92;", "'"} {
		for _, s := range []string{strings.Repeat(unit, 1<<14), strings.Repeat(unit, 1<<14) + "..."} {
			m.Text(s)
			m.String(s)
		}
	}

	if d := spent(t) - start; d > 30*time.Second {
		t.Errorf("It took %s of a processor", d)
	}
}
