package docs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFill(t *testing.T) {
	page := "a\n<!-- generated: x -->\nold\n<!-- end -->\nb\n<!-- generated: y -->\n<!-- end -->\n"
	cases := map[string]struct {
		reason string
		name   string
		want   string
		fails  bool
	}{
		"First": {"The region is replaced, and no other.", "x",
			"a\n<!-- generated: x -->\n\nnew\n\n<!-- end -->\nb\n<!-- generated: y -->\n<!-- end -->\n", false},
		"Empty": {"An empty region is filled.", "y",
			"a\n<!-- generated: x -->\nold\n<!-- end -->\nb\n<!-- generated: y -->\n\nnew\n\n<!-- end -->\n", false},
		"Unknown": {"A region that is not there cannot be filled.", "z", "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := fill(page, tc.name, "\nnew\n")
			if diff := cmp.Diff(tc.want, got); diff != "" || tc.fails != (err != nil) {
				t.Errorf("%s\nerror %v, -want, +got:\n%s", tc.reason, err, diff)
			}
		})
	}
}

func TestRows(t *testing.T) {
	page := strings.Join([]string{
		"# Top", "## One", "| A | B |", "|---|---|", "| `x` | 1 |", "", "| C |", "|---|", "| 2 |", "```",
		"| no | row |", "# no heading", "```",
		"## Two", "### Three", "| A | B |", "|---|:-:|", "| y | |",
	}, "\n")
	want := []row{
		{line: 5, headings: []string{"Top", "One"}, header: []string{"A", "B"}, cells: []string{"`x`", "1"}},
		{line: 9, headings: []string{"Top", "One"}, header: []string{"C"}, cells: []string{"2"}},
		{line: 18, headings: []string{"Top", "Two", "Three"}, header: []string{"A", "B"}, cells: []string{"y", ""}},
	}
	got := rows(page)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("rows(...): -want, +got:\n%s", diff)
	}
	if value, ok := got[0].cell("B"); value != "1" || !ok || !got[0].under("One") || got[0].under("Two") {
		t.Errorf("the first row is %+v, with %q in B", got[0], value)
	}
	if _, ok := got[1].cell("B"); ok {
		t.Error("the second table has no column B")
	}
}

func TestBlocks(t *testing.T) {
	want := []block{{line: 2, info: "go", text: "a\n\nb\n"}, {line: 7, info: "", text: "c\n"}}
	got := blocks("x\n```go\na\n\nb\n```\n```\nc\n```\ny\n")
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(block{})); diff != "" {
		t.Errorf("blocks(...): -want, +got:\n%s", diff)
	}
}

func TestDifferences(t *testing.T) {
	page := "## One\n\n- suite: 3 cases\n\n| Case | In what | Why |\n|---|---|---|\n| A | status | x |\n| B | calls | " +
		"y |\n| A | result | x |\n| all but C | result | x |\n\n" +
		"## Two\n\n| Case | In what | Why |\n|---|---|---|\n| D | calls | x |\n\n## Three\n\n| Case |\n|---|\n| A |\n"
	for want, headings := range map[string][]string{
		"- suite: 3 cases\n\n| Cases | Differs in | Why |\n|---|---|---|\n| `A`, all but C | result, status | x |\n| `B` | " +
			"calls | y |\n": {"One"},
		"- suite: 3 cases\n\n| Cases | Differs in | Why |\n" +
			"|---|---|---|\n| `A`, all but C, `D` | calls, result, status | x " +
			"|\n| `B` | calls | y |\n": {"One", "Two"},
	} {
		got, err := differences(page, headings...)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v: error %v, -want, +got:\n%s", headings, err, diff)
		}
	}
	for _, heading := range []string{"Three", "Four"} {
		if _, err := differences(page, heading); err == nil {
			t.Errorf("%q: nothing was read, and no error", heading)
		}
	}
}

func TestReadAPI(t *testing.T) {
	text := "# no word\nimport x \"y\"\n\npackage pkg/p\nfunc New[T any](x T) *T\nfunc (*T) Do()\ntype T " +
		"struct{}\nconst A B = 1\npackage pkg/q\nvar V int\n"
	want := []api{{path: "pkg/p", names: []string{"A", "New", "T"}, more: 1}, {path: "pkg/q", names: []string{"V"}}}
	if diff := cmp.Diff(want, readAPI(text), cmp.AllowUnexported(api{})); diff != "" {
		t.Errorf("readAPI(...): -want, +got:\n%s", diff)
	}
}
