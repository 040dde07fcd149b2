package measure

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// treeOf returns a tree of files, each a name and a text, in which only govet and unparam run.
func treeOf(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	files = maps.Clone(files)
	files[".golangci.yaml"] = "linters:\n  enable:\n    - govet\n    - unparam\n"
	tree, err := FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestGates(t *testing.T) {
	const twenty = "a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t"
	long := strings.Repeat("x", 119)
	cases := map[string]struct {
		reason string
		gate   string
		files  map[string]string
		want   []string
	}{
		"Structs": {
			"Every name counts; the facts of a decision, tests and what is not in pkg do not.",
			"structs",
			map[string]string{
				"pkg/a/a.go": "package a\n\ntype T struct { " + twenty + " int; fmt.U }\n",
				"pkg/a/b.go": "package a\n\ntype Facts struct { " + twenty + ", u int }\n",
				"pkg/a/c.go": "package a\n\ntype V struct { " + twenty + " int }\n",
				"cmd/a/a.go": "package a\n\ntype W struct { " + twenty + ", u int }\n",
			},
			[]string{"pkg/a/a.go:3: T has 21 fields"},
		},
		"Comments": {
			"A comment begins with the name, as a word, or with an article and the name. No comment is no finding.",
			"comments",
			map[string]string{"a/a.go": `package a

// do it.
func do() {}

// Do it.
func do2() {}

// do3, once.
func do3() {}

// A do4 is one.
func do4() {}

// do51 is another.
func do5() {}

func do6() {}

//nolint:govet // a directive is no comment
func do7() {}

// A returns it.
func A() {}
`, "a/a_test.go": "package a\n\n// Some use it.\nfunc ExampleDo() {}\n"},
			[]string{`a/a.go:7: the comment of do2 begins with "Do"`,
				`a/a.go:16: the comment of do5 begins with "do51"`},
		},
		"Nolint": {
			"Every linter of a list has to run, and one has to be named.",
			"nolint",
			map[string]string{"a/a.go": `package a

var a = 1 //nolint:unparam,gosec // reason
var b = 1 //nolint
var c = 1 //nolint:govet // reason
// nolints is a word.
`},
			[]string{`a/a.go:3: "gosec" is not enabled`, `a/a.go:4: "" is not enabled`},
		},
		"Stems": {
			"A part of a name is enough, from its beginning; some words need no file.",
			"stems",
			map[string]string{
				"pkg/a/a_queue.go": "package a\n", "pkg/a/a_queue_test.go": "package a\n",
				"pkg/a/a_queue_order_test.go": "package a\n",
				"pkg/a/a_test.go":             "package a\n", "pkg/a/order_test.go": "package a\n",
				"pkg/a/fuzz_order_test.go": "package a\n",
				"pkg/a/world_test.go":      "package a\n", "internal/a/order_test.go": "package a\n",
			},
			[]string{
				"pkg/a/a_test.go:1: no production file has the stem a",
				"pkg/a/order_test.go:1: no production file has the stem order",
			},
		},
		"Identifiers": {
			"Words are looked for in declarations of all kinds, and not in parts of words.",
			"identifiers",
			map[string]string{"a/a.go": `package a

type untold struct{ lastTold int }

func (u untold) LetGo(memo int) { told := memo; for spare := range 1 { _ = told + spare } }

func rollBack(rollout int) {}

func roll_x() {}
`},
			[]string{
				`a/a.go:3: lastTold has the word "told"`, `a/a.go:5: LetGo has the word "let go"`,
				`a/a.go:5: memo has the word "memo"`, `a/a.go:5: spare has the word "spare"`,
				`a/a.go:5: told has the word "told"`, `a/a.go:9: roll_x has the word "roll"`,
			},
		},
		"Prose": {
			"Comments and pages are prose; code in them, and other text, is not.",
			"prose",
			map[string]string{
				"a/a.go": "package a\n\n// Whoever reads `told` is told.\nvar a = \"nobody\"\n",
				"a.md":   "Nobody has\n```\nnobody\n```\n    nobody\n[here](nobody.md) the harbourmaster.\n",
			},
			[]string{`a.md:1: "Nobody"`, `a/a.go:3: "Whoever"`, `a/a.go:3: "told"`},
		},
		"Strings": {
			"Strings are searched, and comments and hosts are not.",
			"strings",
			map[string]string{
				"a/a.go": "package a\n\nvar a = []string{\n\t\"a Boat\", // boat\n\t\"quay.io/x\", \"boathouse\",\n}\n",
			},
			[]string{`a/a.go:4: a string has the word "Boat"`},
		},
		"Lines": {
			"A tab is one character, and a directive cannot be broken.",
			"lines",
			map[string]string{
				"a/a.go": "package a\n\nvar a = 1 // " + long + "\n// +kubebuilder:" + long + "\n//\t" + long[:117] +
					"\n",
			},
			[]string{"a/a.go:3: 132 characters"},
		},
		"Paragraphs": {
			"A cell counts by itself, and a block of code does not.",
			"paragraphs",
			map[string]string{"a.md": fmt.Sprintf("| %s | %s |\n%s\n```\n%s\n```\n", strings.Repeat("a", 300),
				strings.Repeat("b", 300), strings.Repeat("c", 501), strings.Repeat("d", 501))},
			[]string{"a.md:2: 501 characters"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			gate, ok := ByName(tc.gate)
			if !ok {
				t.Fatalf("there is no gate %q", tc.gate)
			}
			if diff := cmp.Diff(tc.want, texts(gate.Find(treeOf(t, tc.files)))); diff != "" {
				t.Errorf("%s\n%s: -want, +got:\n%s", tc.reason, tc.gate, diff)
			}
		})
	}
}

func TestGlobals(t *testing.T) {
	tree := treeOf(t, map[string]string{"pkg/a/a.go": `package a

import (
	"sync"
	"example.org/prometheus"
)

var (
	table    = map[string]int{"a": 1}
	counted  = map[string]int{}
	level    int
	seen     cache
	given    [2]int
	once     sync.Once
	lock     sync.Mutex
	finder   = func(mu *sync.Mutex) int { return 1 }
	requests = prometheus.NewCounter()
	desc     = prometheus.NewDesc()
	shadowed int
)

type cache struct{ last string }

func (c *cache) put(s string)  { c.last = s }
func (c *cache) get() string   { return c.last }

func use(shadow int) {
	counted["a"]++
	level = table["b"]
	seen.put(seen.get())
	fill(&given)
	shadowed := 1
	shadowed = 2
	_, _ = shadowed, finder(nil)
	once.Do(nil)
}
`})
	want := []string{
		"pkg/a/a.go:10: counted is assigned",
		"pkg/a/a.go:11: level is assigned",
		"pkg/a/a.go:12: seen is changed by its method put",
		"pkg/a/a.go:13: given is changed by its address",
		"pkg/a/a.go:15: lock is made to change",
		"pkg/a/a.go:17: requests is made to change",
	}
	gate, _ := ByName("globals")
	if diff := cmp.Diff(want, texts(gate.Find(tree))); diff != "" {
		t.Errorf("globals: -want, +got:\n%s", diff)
	}
}

// texts returns findings as lines, those of one line by their text.
func texts(findings []Finding) (out []string) {
	for _, f := range findings {
		out = append(out, fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.What))
	}
	slices.SortStableFunc(out, func(a, b string) int {
		linesOf := func(s string) string { return s[:strings.LastIndex(s, ": ")] }
		if linesOf(a) != linesOf(b) {
			return 0
		}
		return strings.Compare(a, b)
	})
	return out
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".golangci.yaml": "linters:\n  enable:\n    - govet\n", "a/a.go": "package a\n", "a/a.md": "A page.\n",
		"a/a.txt":         "x\n",
		"a/testdata/a.go": "not Go", "bin/b.go": "not Go", ".git/c.go": "not Go",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := []int{len(tree.Go), len(tree.Pages), len(tree.linters)}
	if diff := cmp.Diff([]int{1, 1, 1}, got); diff != "" || tree.Go[0].Name != "a/a.go" || tree.Pages[0].Dir() != "a" {
		t.Errorf("Read(...): files, pages and linters -want, +got:\n%s", diff)
	}
}

func TestEnabled(t *testing.T) {
	const config = `version: "2"
linters:
  default: none
  enable:
    # Mistakes.
    - govet # what every Go programmer's compiler says

    - unparam
  settings:
    x:
      enable:
        - other
formatters:
  enable:
    - gofmt
`
	if diff := cmp.Diff([]string{"govet", "unparam"}, enabled([]byte(config))); diff != "" {
		t.Errorf("enabled(...): -want, +got:\n%s", diff)
	}
}

func TestSplit(t *testing.T) {
	cases := map[string][]string{
		"letGo":       {"let", "go"},
		"HTTPClient":  {"http", "client"},
		"isUID":       {"is", "uid"},
		"Test_toldBy": {"test", "_", "told", "by"},
		"x":           {"x"},
	}
	for name, want := range cases {
		if diff := cmp.Diff(want, split(name)); diff != "" {
			t.Errorf("split(%q): -want, +got:\n%s", name, diff)
		}
	}
}
