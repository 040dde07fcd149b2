package external

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNormalize(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     string
		want   string
	}{
		"Nothing": {reason: "No text is none.", in: "", want: ""},
		"Words": {
			reason: "A sentence is kept.", in: "cannot create stream: subjects overlap",
			want: "cannot create stream: subjects overlap",
		},
		"Space": {reason: "Lines and indents say nothing.", in: " a\n\tb  c ", want: "a b c"},
		"Code": {
			reason: "The code of an answer says what happened.", in: "404 err_code=10058",
			want: "404 err_code=10058",
		},
		"Limit": {
			reason: "So does a limit.", in: "name is longer than 63 characters",
			want: "name is longer than 63 characters",
		},
		"Name": {
			reason: "Names have digits.", in: "stream orders-v2 of eu-west-1",
			want: "stream orders-v2 of eu-west-1",
		},
		"UUID": {
			reason: "An identifier.", in: "volume 6BA7B810-9dad-11d1-80b4-00c04fd430c8 is busy",
			want: "volume <id> is busy",
		},
		"UUID2": {
			reason: "One of letters alone.",
			in:     "volume deadbeef-cafe-babe-feed-facadefacade is busy", want: "volume <id> is busy",
		},
		"Hex":  {reason: "As addresses are printed.", in: "at 0xc000123abc", want: "at <id>"},
		"Hash": {reason: "As digests and traces are.", in: "trace 4bf92f3577b34da6", want: "trace <id>"},
		"HexWord": {
			reason: "A word of hexadecimal letters alone is a word.", in: "facade defaced",
			want: "facade defaced",
		},
		"Token": {reason: "Long and mixed.", in: "got 01ARZ3NDEKTSV4RRFFQ69G5FAV", want: "got <id>"},
		"LongWord": {
			reason: "Long, of letters.", in: "InvalidParameterCombination",
			want: "InvalidParameterCombination",
		},
		"LongWord1": {
			reason: "Long, and one digit.", in: "InvalidParameterCombination2",
			want: "InvalidParameterCombination2",
		},
		"Request": {
			reason: "Whatever follows is one.",
			in:     "status 400, request id: ab-CD, x-request-id=qwe",
			want:   "status 400, request id <id>, x-request-id <id>",
		},
		"Request2": {
			reason: "In the words of several systems.",
			in:     `RequestID: A1, "requestId":"zx81", Trace-ID 99.`,
			want:   `RequestID <id>, "requestId" <id>", Trace-ID <id>.`,
		},
		"NoRequest": {
			reason: "A sentence about identifiers has none.", in: "request id not found",
			want: "request id not found",
		},
		"RFC3339": {
			reason: "A point in time.",
			in:     "at 2026-11-20T13:20:11.123Z or 2026-11-20T13:20:11+01:00",
			want:   "at <time> or <time>",
		},
		"GoTime":   {reason: "As Go prints it.", in: "2026-11-20 13:20:11.5 +0000 UTC m=+0.25 x", want: "<time> x"},
		"HTTPTime": {reason: "As HTTP prints it.", in: "until Fri, 20 Nov 2026 13:20:11 GMT", want: "until <time>"},
		"CTime":    {reason: "As C does.", in: "until Fri Nov 20 13:20:11 2026", want: "until <time>"},
		"Clock":    {reason: "Without a date.", in: "[13:20:11.123] x", want: "[<time>] x"},
		"Date":     {reason: "Without a time.", in: "expired 2026-11-20", want: "expired <time>"},
		"Duration": {
			reason: "As Go prints it.", in: "took 1m2.5s, 300ms, 12µs",
			want: "took <duration>, <duration>, <duration>",
		},
		"Seconds": {
			reason: "In words.", in: "retry in 3 seconds or 1.5 Minutes",
			want: "retry in <duration> or <duration>",
		},
		"Port": {
			reason: "The near end of a connection has another port each time.",
			in:     "read tcp 10.0.0.1:54321->[::1]:4222: connection reset",
			want:   "read tcp 10.0.0.1:<port>->[::1]:<port>: connection reset",
		},
		"Host": {
			reason: "That of a name goes with it.", in: "dial nats.example.com:4222",
			want: "dial nats.example.com:<port>",
		},
		"Address": {
			reason: "Another address is another problem.", in: "no route to 10.0.0.1",
			want: "no route to 10.0.0.1",
		},
		"Counter": {
			reason: "Attempts are counted.", in: "attempt 3, retries=4, seq: 48213",
			want: "attempt <n>, retries=<n>, seq: <n>",
		},
		"Number": {reason: "A long number counts something.", in: "at 1795181411", want: "at <n>"},
		"Bytes":  {reason: "What is no text is kept.", in: "a\xff b", want: "a\xff b"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Normalize(tc.in)); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRulesThatAreLeftOut: a rule is skipped for a text only if it would not change it.
func TestRulesThatAreLeftOut(t *testing.T) {
	parts := []string{
		"abcdefab-abcd-abcd-abcd-abcdefabcdef", "2026-11-20", "Fri, 20 Nov 2026 13:20:11 GMT", "13:20:11",
		"request id", "Trace-ID", "reqIDs", ":", "=", " x", "z",
		"attempt 3", "took 3s", "1.5 Minutes", "localhost:80", "a.b:4222", "0xff", "0XFF", "12345678", "cafe1234",
		"deadbeef", "\xff", "é",
	}
	for _, a := range parts {
		for _, b := range parts {
			for _, text := range []string{a + b, a + " " + b} {
				want := text
				for _, r := range rules {
					want = r.pattern.ReplaceAllString(want, r.with)
				}
				want = replaceWords(want)
				if got := replace(text); got != want {
					t.Fatalf("%q became %q, want %q", text, got, want)
				}
			}
		}
	}
}

func TestNormalizeIsBounded(t *testing.T) {
	if got := Normalize(strings.Repeat("a", 1<<20)); len(got) != maxNormalized {
		t.Errorf("want %d bytes, got %d", maxNormalized, len(got))
	}
}

// FuzzNormalize: Normalize is idempotent, and texts that differ only in an identifier or a
// time become equal.
func FuzzNormalize(f *testing.F) {
	f.Add("cannot create stream: request id: ", ", at 2026-11-20T13:20:11Z took 3s, attempt 4")
	f.Add("read tcp 10.0.0.1:54321->[::1]:4222", " 0xc000123abc 1795181411 01ARZ3NDEKTSV4RRFFQ69G5FAV")
	f.Add("x-request-id=12 session id 3", "\xff 12:13:14:15:16:17")
	f.Fuzz(func(t *testing.T, before, after string) {
		if len(before)+len(after) > 1<<12 {
			return
		}
		once := Normalize(before + after)
		if diff := cmp.Diff(once, Normalize(once)); diff != "" {
			t.Errorf("twice is not once\n-once, +twice:\n%s", diff)
		}

		pairs := [][2]string{
			{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "00000000-0000-0000-0000-000000000001"},
			{"2026-11-20T13:20:11Z", "1999-01-02T03:04:05Z"},
		}
		for _, pair := range pairs {
			one, other := Normalize(before+" "+pair[0]+" "+after), Normalize(before+" "+pair[1]+" "+after)
			if diff := cmp.Diff(one, other); diff != "" {
				t.Errorf("%s and %s differ\n-one, +other:\n%s", pair[0], pair[1], diff)
			}
		}
	})
}

func BenchmarkNormalize(b *testing.B) {
	const text = "cannot create stream: nats: API error: code=400 err_code=10058 description=stream name already in " +
		"use, request id: 8f14e45f-ceea-467f-a0e6-0c1f3b1a2c3d, took 312ms"
	b.ReportAllocs()
	for b.Loop() {
		Normalize(text)
	}
}
