package difference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePath(t *testing.T) {
	name := func(n string) step { return step{name: n} }
	cases := map[string]struct {
		reason string
		path   string
		want   []step
	}{
		"Name":  {reason: "A name is one step.", path: "a", want: []step{name("a")}},
		"Names": {reason: "Dots separate names.", path: "a.b-c", want: []step{name("a"), name("b-c")}},
		"Index": {
			reason: "A number in brackets is an index.", path: "a[12].b",
			want: []step{name("a"), {kind: byIndex, index: 12}, name("b")},
		},
		"Each": {
			reason: "An asterisk is each element.", path: "a[*][*]",
			want: []step{name("a"), {kind: toEach}, {kind: toEach}},
		},
		"Key": {reason: "Other texts in brackets are keys.", path: "a[x.y/z]", want: []step{name("a"), name("x.y/z")}},
		"Quoted": {
			reason: "Quotes allow any key.", path: `["a\"]b"]["*"].c`,
			want: []step{name(`a"]b`), name("*"), name("c")},
		},
		"Negative": {reason: "An index is not negative.", path: "a[-1]", want: []step{name("a"), name("-1")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parsePath(tc.path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got, cmp.AllowUnexported(step{})); d != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, d)
			}
		})
	}
}

func TestParsePathErrors(t *testing.T) {
	cases := map[string]string{
		"":         "a name is missing: write a path such as maxAge or sources[*].name",
		".a":       "a name is missing: write a path such as maxAge or sources[*].name",
		"a.":       "a name is missing: write a path such as maxAge or sources[*].name",
		"a..b":     "a name is missing: write a path such as maxAge or sources[*].name",
		"a[":       "a closing bracket is missing",
		"a[]":      "the brackets are empty: write an index, a key, or an asterisk for each element",
		"a[0]b":    "write a dot or a bracket after a bracket",
		`a["b`:     "a quoted key does not end",
		`a["b\"`:   "a quoted key does not end",
		`a["b"`:    "a closing bracket is missing after a quoted key",
		`a["\x"].`: "a quoted key is not a JSON string",
	}
	for path, want := range cases {
		got, err := parsePath(path)
		if err == nil || !strings.HasSuffix(err.Error(), ": "+want) || got != nil {
			t.Errorf("parsePath(%q): got %v and %v, want the error %q", path, got, err, want)
		}
	}
}

// FuzzPath: the path of steps that were parsed has the same steps.
func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"a", "a.b[0].c", `a["x.y"][*]`, "a[x/y]", "[", "[*]", `["` + "\xff" + `"]`, "a[99999999999999999999]",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		steps, err := parsePath(path)
		if err != nil {
			return
		}
		var b strings.Builder
		for _, s := range steps {
			s.name = strings.ToValidUTF8(s.name, "\ufffd")
			s.write(&b)
		}
		again, err := parsePath(b.String())
		if err != nil {
			t.Fatalf("%q became %q: %v", path, b.String(), err)
		}
		for i := range steps {
			steps[i].name = strings.ToValidUTF8(steps[i].name, "\ufffd")
		}
		if d := cmp.Diff(steps, again, cmp.AllowUnexported(step{})); d != "" {
			t.Errorf("%q became %q: -want, +got:\n%s", path, b.String(), d)
		}
	})
}
