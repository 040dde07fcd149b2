package difference

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
)

// canary is a secret that is found only by a mask.
const canary = "correct horse battery staple"

func TestClean(t *testing.T) {
	cases := map[string]struct {
		reason string
		list   []commonv1.Difference
		want   []commonv1.Difference
	}{
		"None": {reason: "Without differences there are none."},
		"Sorted": {
			reason: "Differences are sorted by path.", list: []commonv1.Difference{diff("b", "1", "2"), diff("a", "1", "2")},
			want: []commonv1.Difference{diff("a", "1", "2"), diff("b", "1", "2")},
		},
		"Twice": {
			reason: "Each path occurs once, and what is known of one of them counts.",
			list: []commonv1.Difference{
				diff("a", "2", "2"), {Path: "a", Desired: "1", Immutable: true},
				diff("b", "x", ""), secret("b"), diff("b", "y", ""),
			},
			want: []commonv1.Difference{{Path: "a", Desired: "1", Immutable: true}, secret("b")},
		},
		"NoPath": {
			reason: "An empty path is the whole.", list: []commonv1.Difference{diff("", "1", "2")},
			want: []commonv1.Difference{diff(".", "1", "2")},
		},
		"Sensitive": {
			reason: "A sensitive difference has no values, nor has one with the name of a secret.",
			list: []commonv1.Difference{
				{Path: "a", Desired: "x", Observed: "y", Sensitive: true},
				diff("b.password", "x", "y"), diff("credentials.b", "x", "y"),
				diff(`c["example.org/api-token"]`, "x", "y"), diff("d[token", "x", "y"), diff("e.secretRef.name", "x", "y"),
			},
			want: []commonv1.Difference{
				secret("a"), secret("b.password"), secret(`c["example.org/api-token"]`), secret("credentials.b"),
				secret("d[token"), diff("e.secretRef.name", "x", "y"),
			},
		},
		"Known": {
			reason: "A known secret is masked, also in a path.", list: []commonv1.Difference{
				diff(`a["`+canary+`"]`, `"`+canary+`"`, `{"x":"`+strings.ToUpper(canary)+`"}`),
			},
			want: []commonv1.Difference{diff(`a["[REDACTED]"]`, `"[REDACTED]"`, `{"x":"[REDACTED]"}`)},
		},
		"Broken": {
			reason: "So is one that is broken by spaces or at the end.", list: []commonv1.Difference{
				diff("a", strings.ReplaceAll(canary, " ", "\n"), strings.Repeat("x", MaxLength-40)+canary),
			},
			want: []commonv1.Difference{diff("a", "[REDACTED]", strings.Repeat("x", MaxLength-40)+"[REDACTED]")},
		},
		"Characters": {
			reason: "A text is one line of characters with a form.",
			list:   []commonv1.Difference{diff("a\nb\x00", "\x1b[31m\u202e\u00ad", "\xff\tö\u2028")},
			want:   []commonv1.Difference{diff("a b\ufffd", "\ufffd[31m\ufffd\ufffd", "\ufffd ö ")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tc.list)
			got, more := Clean(tc.list, redact.NewMask([]byte(canary)))
			if d := cmp.Diff(tc.want, got); d != "" || more != 0 {
				t.Errorf("%s %d more\n-want, +got:\n%s", tc.reason, more, d)
			}
			if d := cmp.Diff(before, tc.list); d != "" {
				t.Errorf("The list was changed: -want, +got:\n%s", d)
			}
		})
	}
}

func TestCleanMore(t *testing.T) {
	var list []commonv1.Difference
	for i := range 10_000 {
		path := fmt.Sprintf("field%05d", i)
		list = append(list, diff(path, "1", "2"), diff(path, "1", "2"))
	}
	slices.Reverse(list)
	got, more := Clean(list, nil)
	if len(got) != MaxFields || more != 10_000-MaxFields || got[MaxFields-1].Path != "field00063" {
		t.Errorf("%d differences and %d more, the last is %v", len(got), more, got[len(got)-1])
	}
}

func TestCleanLongPaths(t *testing.T) {
	long := strings.Repeat("x", MaxLength)
	got, more := Clean([]commonv1.Difference{diff(long+"a", "1", "2"), diff(long+"b", "3", "4")}, nil)
	want := []commonv1.Difference{diff(long[:241]+"... (truncated)", "1", "2")}
	if d := cmp.Diff(want, got); d != "" || more != 1 {
		t.Errorf("Two paths that are equal when they are shortened are one, and one more; got %d more\n-want, +got:\n%s",
			more, d)
	}
}

// A countingMask counts how many texts and bytes Clean reads. A mask reads at most eight times its limit.
type countingMask struct{ texts, bytes int }

func (m *countingMask) Long(s string, limit int) string {
	m.texts++
	m.bytes += min(len(s), 8*limit)
	return (*redact.Mask)(nil).Long(s, limit)
}

// TestCleanReadsLittle: how much Clean reads does not depend on the length of the list and of its texts.
func TestCleanReadsLittle(t *testing.T) {
	long := strings.Repeat("lorem ipsum ", 1000)
	lists := map[string][]commonv1.Difference{"LongPaths": longPaths(true), "OnePath": longPaths(false)}
	for i := range 10_000 {
		path := fmt.Sprintf("field%05d", 10_000-i)
		lists["Short"] = append(lists["Short"], diff(path, "1", "2"))
		lists["Long"] = append(lists["Long"], diff(path, long, long))
		lists["Lines"] = append(lists["Lines"], diff(path, strings.Repeat("a\n", 128), strings.Repeat("\x01", 85)))
	}
	lists["Few"] = lists["Long"][:MaxFields]
	for name, list := range lists {
		m := &countingMask{}
		got, _ := Clean(list, m)
		if most := 6 * MaxFields; m.texts > most || m.bytes > 128<<10 {
			t.Errorf("%s: %d texts of %d bytes are read, want at most %d of 128 KiB", name, m.texts, m.bytes, most)
		}
		for i, d := range got {
			if name == "Long" && (len(d.Desired) > len(unread)) != (i < 16) {
				t.Errorf("%s: number %d is %q", name, i, d.Desired)
			}
			if name == "Lines" && (d.Desired == unread || d.Observed == unread) {
				t.Errorf("%s: number %d is %q, %q", name, i, d.Desired, d.Observed)
			}
		}
	}
}

// checkClean checks what holds for all cleaned differences.
func checkClean(t *testing.T, list []commonv1.Difference) {
	t.Helper()
	for i, d := range list {
		for _, s := range []string{d.Path, d.Desired, d.Observed} {
			bad := func(r rune) bool { return r != ' ' && !unicode.IsGraphic(r) }
			if len(s) > MaxLength || !utf8.ValidString(s) || strings.ContainsFunc(s, bad) {
				t.Errorf("not clean: %q", s)
			}
		}
		if d.Path == "" || d.Sensitive && d.Desired+d.Observed != "" {
			t.Errorf("no path, or the values of a secret: %+v", d)
		}
		if i > 0 && list[i-1].Path >= d.Path {
			t.Errorf("%q is before %q", list[i-1].Path, d.Path)
		}
	}
}

// FuzzClean: whatever a client reports is clean and bounded, without a known secret, and another Clean changes nothing.
func FuzzClean(f *testing.F) {
	f.Add("maxAge", `"24h0m0s"`, "subjects", `["a.>"]`, uint8(0))
	f.Add("password", "x", "a\x00b", "\xff\u202e", uint8(1))
	f.Add("", "token=\nabc", "[", strings.Repeat("Ö", 300), uint8(2))
	f.Add(strings.Repeat("a", 5000)+".password", "x", `a["b`, "Authorization:\u00a0Bearer\tabc", uint8(3))
	f.Fuzz(func(t *testing.T, path1, value1, path2, value2 string, flags uint8) {
		if all := path1 + value1 + path2 + value2; strings.Contains(all, canary[:8]) {
			return
		}
		list := []commonv1.Difference{
			{Path: path1, Desired: value1, Observed: value2 + canary + value1, Sensitive: flags&1 != 0},
			{Path: path2 + canary, Desired: canary + value2, Observed: value1, Immutable: flags&2 != 0},
			{Path: path1, Observed: value2},
		}
		mask := redact.NewMask([]byte(canary))
		got, more := Clean(list, mask)
		checkClean(t, got)
		if text := fmt.Sprint(got); strings.Contains(text, canary) {
			t.Errorf("a secret: %s", text)
		}
		distinct := map[string]bool{path1: true, path2 + canary: true}
		if len(got)+more > len(distinct) || len(got) == 0 {
			t.Errorf("%d differences and %d more of %d", len(got), more, len(distinct))
		}
		again, _ := Clean(got, mask)
		if d := cmp.Diff(got, again); d != "" {
			t.Errorf("another Clean changes something: -want, +got:\n%s", d)
		}
		slices.Reverse(list)
		if reversed, _ := Clean(list, mask); !slices.Equal(got, reversed) {
			t.Errorf("the order of the list matters: %v and %v", got, reversed)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	list := []commonv1.Difference{diff("maxAge", `"24h0m0s"`, `"72h0m0s"`), diff("subjects", `["a.>"]`, `["a.>","b.>"]`)}
	var many []commonv1.Difference
	for i := range 10_000 {
		many = append(many, diff(fmt.Sprintf("field%05d", 10_000-i), strings.Repeat("x", 10_000), "2"))
	}
	mask := redact.NewMask([]byte(canary))
	b.Run("Two", func(b *testing.B) {
		for b.Loop() {
			Clean(list, mask)
		}
	})
	for name, list := range map[string][]commonv1.Difference{
		"Many": many, "LongPaths": longPaths(true), "OnePath": longPaths(false),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Clean(list, mask)
			}
		})
	}
}

// longPaths returns 10,000 differences with texts of 10 KB, which have a long part in common. If they are not distinct,
// all have the same path.
func longPaths(distinct bool) (out []commonv1.Difference) {
	for i := range 10_000 {
		path := strings.Repeat("x", 10_000)
		if distinct {
			path = strings.Repeat("x", 2000) + fmt.Sprintf("%05d", 10_000-i) + path
		}
		out = append(out, diff(path, strings.Repeat("x", 10_000), fmt.Sprintf("%s%05d", strings.Repeat("x", 2000), i)))
	}
	return out
}
