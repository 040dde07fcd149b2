package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write race.txt anew")

const root = "../.."

// TestProofList checks that each listed test exists in its package and belongs to a part of the proof, and that make
// test leaves out exactly this list. A test that make test leaves out has a name that is unique in its module. One with
// flags is listed for each package that declares its name.
func TestProofList(t *testing.T) {
	tests, err := readList()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	folders := declared(t)
	for _, l := range tests {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == l.part }) {
			t.Errorf("%s %s: there is no part %s", l.folder, l.test, l.part)
		}
		module, _ := moduleOf(l.folder)
		name, _, _ := strings.Cut(l.test, "/")
		got := folders[[2]string{module, name}]
		if !slices.Contains(got, l.folder) {
			t.Errorf("%s: there is no %s", l.folder, name)
		}
		if len(got) > 1 && l.flags == "" {
			t.Errorf("%s: %s is declared in %v; go test leaves out all tests of a name in a module", l.folder,
				l.test, got)
		}
		for _, folder := range got { // with flags, the line names the package, and make test leaves out none
			if !slices.ContainsFunc(tests, func(o listed) bool { return o.folder == folder && o.test == l.test }) {
				t.Errorf("%s: %s is declared in %s, too, which has no line of its own", l.folder, l.test, folder)
			}
		}
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		_, recipe, _ := strings.Cut(string(makefile), "\n"+p.target+":")
		recipe, _, _ = strings.Cut(recipe, "\n.PHONY")
		for _, c := range commandsOf(tests, p.name) {
			for _, test := range c.tests {
				if p.runsListed && !strings.Contains(recipe, test) {
					t.Errorf("the target %s does not run %s", p.target, test)
				}
			}
		}
		if p.target != "" && recipe == "" {
			t.Errorf("there is no target %s", p.target)
		}
		if p.target == "" && len(commandsOf(tests, p.name)) == 0 {
			t.Errorf("the part %s runs nothing", p.name)
		}
	}
}

// named finds the tests that a recipe names: those of "-run '^TestX$$'" and of "-run '^(TestX|TestY)$$'", whole names.
var named = regexp.MustCompile(`-run '?\^\(?((?:Test\w+)(?:\|Test\w+)*)\)?\$\$`)

// TestTargets checks that each test that a target of the proof names exists: go test passes without it.
func TestTargets(t *testing.T) {
	t.Chdir(root)
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for key := range declared(t) {
		there[key[1]] = true
	}
	count := 0
	for _, m := range named.FindAllStringSubmatch(string(makefile), -1) {
		for name := range strings.SplitSeq(m[1], "|") {
			count++
			if !there[name] {
				t.Errorf("the Makefile names %s, and there is no such test", name)
			}
		}
	}
	if count < 10 {
		t.Errorf("the Makefile names %d tests: this test does not read them", count)
	}
}

// declares finds the names of tests in a file.
var declares = regexp.MustCompile(`(?m)^func (Test\w+)\(\w+ \*testing\.T\)`)

// declared returns the folders whose tests declare a name, by module and name.
func declared(t *testing.T) map[[2]string][]string {
	t.Helper()
	folders := map[[2]string][]string{}
	err := filepath.WalkDir(".", func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." && (ignored(d.Name()) || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		folder := filepath.ToSlash(filepath.Dir(file))
		module, _ := moduleOf(folder)
		for _, m := range declares.FindAllStringSubmatch(string(text), -1) {
			key := [2]string{module, m[1]}
			if !slices.Contains(folders[key], folder) {
				folders[key] = append(folders[key], folder)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

// runsGo finds where a test has the Go command compile, run or list something.
var runsGo = regexp.MustCompile(`"go", "(build|run|test|list", "-e)\b`)

// TestUnrepeated checks that packages whose tests compile or list other sources are never cached.
func TestUnrepeated(t *testing.T) {
	t.Chdir(root)
	for _, folder := range unrepeated {
		if _, err := os.Stat(folder); err != nil {
			t.Error(err)
		}
	}
	folders := map[string]bool{}
	for _, of := range declared(t) {
		for _, folder := range of {
			folders[folder] = true
		}
	}
	for folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if runsGo.Match(text) && !isUnrepeated(folder) {
				t.Errorf("%s runs the Go command: add its folder to those that are not repeated", file)
			}
		}
	}
}

// TestRaceList computes the packages that run under the race detector from what they import and start.
func TestRaceList(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "testrun race $(OWN)") ||
		!strings.Contains(string(text), "testrun test $(CODE)") {
		t.Error("make test and make race do not give testrun all modules")
	}
	got, err := raced(root, modulesOf(t))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("race.txt", []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(strings.Fields(raceList), got); diff != "" && !*update {
		t.Errorf("go test ./internal/testrun -update writes race.txt: -want, +got:\n%s", diff)
	}
	for _, must := range []string{"pkg/reconciler/managed", "pkg/connection", "pkg/controller", "pkg/external/limit",
		"pkg/syncer/internal/systemtest"} {
		if !slices.Contains(got, must) {
			t.Errorf("%s is not in the list", must)
		}
	}
}

// TestUnracedList checks that each test that the race detector does not see exists, in a package that it sees, and
// that its name is unique in its module.
func TestUnracedList(t *testing.T) {
	tests, err := unraced()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	folders := declared(t)
	for _, l := range tests {
		module, _ := moduleOf(l.folder)
		if diff := cmp.Diff([]string{l.folder}, folders[[2]string{module, l.test}]); diff != "" {
			t.Errorf("%s is declared elsewhere: -want, +got:\n%s", l.test, diff)
		}
		if !slices.Contains(strings.Fields(raceList), l.folder) {
			t.Errorf("%s: %s is left out of what is left out", l.folder, l.test)
		}
	}
	if len(tests) == 0 {
		t.Error("nothing is read")
	}
}

// modulesOf returns the modules that make race tests: all but devcluster, which is a main around other servers, and
// the tools.
func modulesOf(t *testing.T) []string {
	t.Helper()
	var modules []string
	for _, pattern := range []string{"go.mod", "*/go.mod", "*/*/go.mod", "*/*/*/go.mod"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			module, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			if module != "hack/tools" && module != "devcluster" {
				modules = append(modules, filepath.ToSlash(module))
			}
		}
	}
	return modules
}

func TestSkipped(t *testing.T) {
	list := []listed{
		{"kit", "examples/a", "TestB", ""}, {"kit", "examples/a", "TestA/Long.One", ""}, {"kit", "pkg/c", "TestC", ""},
		{"sim", "examples/a/in", "TestB", ""},
		{"kit", "pkg/c", "TestLong", "-lists 10"},
	}
	t.Chdir(t.TempDir())
	write(t, "go.mod", "module x\n")
	write(t, "examples/a/go.mod", "module y\n")
	if got, want := skipped(list, "examples/a"), `^TestA$/^Long\.One$|^TestB$`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := skipped(list, "."), "^TestC$"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := skipped(list, "bench"); got != "" {
		t.Errorf("%s, want nothing", got)
	}
	var got [][]string
	for _, c := range commandsOf(list, "kit") {
		got = append(got, c.args())
	}
	test := func(module, pkg, run string, flags ...string) []string {
		return append([]string{"-C", module, "test", "./" + pkg, "-count=1", "-timeout", "60m", "-v", "-run", run},
			flags...)
	}
	want := [][]string{test("examples/a", ".", `^TestB$|^TestA$/^Long\.One$`), test(".", "pkg/c", "^TestC$"),
		test(".", "pkg/c", "^TestLong$", "-lists", "10")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestReadLines checks that a line without a test, or with a folder that is not in the repository, is an error that
// quotes it.
func TestReadLines(t *testing.T) {
	for line, want := range map[string]int{"kit pkg/a TestA": 1, "kit pkg/a TestA -n 3 # why": 1,
		"kit pkg/a TestA/b#01": 1, "# why": 0, "": 0, "kit pkg/a": -1, "kit /pkg/a TestA": -1, "kit ../a TestA": -1} {
		tests, err := readLines(line + "\n")
		if strings.Contains(line, "#01") && (len(tests) != 1 || tests[0].test != "TestA/b#01") {
			t.Errorf("%q: %v", line, tests)
		}
		if want < 0 && (err == nil || !strings.Contains(err.Error(), line)) || want >= 0 &&
			(err != nil || len(tests) != want) {
			t.Errorf("%q: %v, %v", line, tests, err)
		}
	}
}

func TestMissing(t *testing.T) {
	c := command{tests: []string{"TestA", "TestA/B", "TestA/C", "TestD"}}
	printed := "=== RUN   TestA/C\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/B (0.00s)\n    --- PASS: TestA/CC " +
		"(0.00s)\n--- FAIL: TestD (0.00s)\n"
	if diff := cmp.Diff([]string{"TestA/C", "TestD"}, c.missing(printed)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	printed = "NOT RUN: TestA: there is no server\n--- PASS: TestA (0.00s)\nNOT RUN: TestB/C: none\n" +
		"--- PASS: TestB (0.00s)\n--- PASS: TestBB (0.00s)\n"
	c = command{tests: []string{"TestA", "TestB", "TestBB"}}
	if diff := cmp.Diff([]string{"TestA", "TestB"}, c.missing(printed)); diff != "" {
		t.Errorf("tests that passed without being run: -want, +got:\n%s", diff)
	}
}

func TestConcurrent(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod":      "module x\n",
		"starts/a.go": "package starts\nfunc f() { go f() }\n", "starts/a_test.go": "package starts\n",
		"guards/a.go": "package guards\nimport _ \"sync\"\n", "guards/a_test.go": "package guards\n",
		"untested/a.go": "package untested\nimport _ \"sync\"\n",
		"plain/a.go":    "package plain\n", "plain/a_test.go": "package plain\nimport _ \"sync\"\n",
		"plain/systemtest/a_test.go":   "package systemtest\n",
		"plain/testdata/p/a.go":        "package p\nimport _ \"sync\"\n",
		"plain/testdata/p/a_test.go":   "package p\n",
		"other/go.mod":                 "module y\n",
		"other/internal/in/a.go":       "package in\nimport _ \"sync/atomic\"\n",
		"other/internal/in/in_test.go": "package in\n",
	} {
		write(t, name, text)
	}
	for _, tc := range []struct {
		modules, want []string
	}{
		{[]string{".", "other"}, []string{"guards", "other/internal/in", "plain/systemtest", "starts"}},
		{[]string{"other"}, []string{"other/internal/in"}},
	} {
		got, err := raced(".", tc.modules)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%v: %v; -want, +got:\n%s", tc.modules, err, diff)
		}
	}
}
