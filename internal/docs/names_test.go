package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Names on pages for packages of this module whose own name is too short to be unique, and for other packages.
var (
	calledOtherwise = map[string]string{"commonv1": "apis/common/v1"}
	notOurs         = map[string]bool{"ptr": true}
)

var (
	qualified  = regexp.MustCompile(`^([a-z]\w*)\.([A-Z]\w*(?:\.[A-Z]\w*)?)`)
	annotation = regexp.MustCompile(`^((?:krateo\.io|moorage\.dev)/[a-z-]+)`)
	testName   = regexp.MustCompile(`^Test[A-Z]\w*$`)
)

// library returns the packages that authors import, by the names they are called by.
func library(t *testing.T) map[string][]source {
	t.Helper()
	out := map[string][]source{}
	for _, p := range packages(t, "pkg", "apis") {
		if strings.Contains("/"+p.dir+"/", "/internal/") || p.name() == "main" {
			continue
		}
		out[p.name()] = append(out[p.name()], p)
		for name, dir := range calledOtherwise {
			if dir == p.dir {
				out[name] = append(out[name], p)
			}
		}
	}
	return out
}

// exists returns whether one of the packages of that name exports the name, and whether there is such a package.
func exists(library map[string][]source, pkg, name string) (exported, known bool) {
	for _, p := range library[pkg] {
		if p.exported(name) {
			return true, true
		}
	}
	return false, len(library[pkg]) > 0
}

// TestNamesHere checks that every name in a column Here exists.
func TestNamesHere(t *testing.T) {
	ours := library(t)
	checked := 0
	for _, r := range rows(read(t, "docs/migrating.md")) {
		here, ok := r.cell("Here")
		if !ok {
			continue
		}
		for _, span := range spans(here) {
			m := qualified.FindStringSubmatch(span)
			if m == nil || notOurs[m[1]] {
				continue
			}
			checked++
			if exported, _ := exists(ours, m[1], m[2]); !exported {
				t.Errorf("docs/migrating.md:%d: %s does not exist", r.line, span)
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d names were looked for: the tables were not read", checked)
	}
}

// TestCausesHaveARow checks that the table of the causes of the change log has each of them, in their order.
func TestCausesHaveARow(t *testing.T) {
	var want, got []string
	for _, m := range regexp.MustCompile(`(?m)^\tCause\w+ Cause = "(\w+)"$`).FindAllStringSubmatch(
		read(t, "pkg/changelog/entry.go"), -1) {
		want = append(want, m[1])
	}
	for _, r := range rows(read(t, conditionsPage)) {
		if cause, ok := r.cell("Cause"); ok {
			got = append(got, spans(cause)...)
		}
	}
	if len(want) == 0 || !slices.Equal(want, got) {
		t.Errorf("the causes are %q, and %s has %q", want, conditionsPage, got)
	}
}

// TestTablesAreWhole looks for rows with another number of cells than their table has columns.
func TestTablesAreWhole(t *testing.T) {
	for _, page := range pages(t) {
		for _, r := range rows(read(t, page)) {
			if len(r.cells) != len(r.header) {
				t.Errorf("%s:%d: %d cells below %d columns", page, r.line, len(r.cells), len(r.header))
			}
		}
	}
}

// pages returns the pages that this package checks.
func pages(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no page was found: %v", err)
	}
	out := []string{"README.md"}
	for _, p := range paths {
		out = append(out, "docs/"+filepath.Base(p))
	}
	return out
}

// TestWordsOfCode looks, on every page, for the names of our packages, the annotations and the tests that stand in
// backquotes. Tables about other projects, which have a column Here, are left out.
func TestWordsOfCode(t *testing.T) {
	ours, annotations, tests := library(t), annotationKeys(t), testNames(t)
	for _, page := range pages(t) {
		for n, line := range prose(read(t, page)) {
			for _, span := range spans(line) {
				if m := qualified.FindStringSubmatch(span); m != nil {
					if exported, known := exists(ours, m[1], m[2]); known && !exported {
						t.Errorf("%s:%d: %s does not exist", page, n+1, span)
					}
				}
				if m := annotation.FindStringSubmatch(span); m != nil && !annotations[m[1]] {
					t.Errorf("%s:%d: there is no annotation %s", page, n+1, m[1])
				}
				if testName.MatchString(span) && !tests[span] {
					t.Errorf("%s:%d: there is no test %s", page, n+1, span)
				}
			}
		}
	}
}

// prose returns the lines of a page without blocks of code and without tables about other projects.
func prose(page string) []string {
	lines := strings.Split(page, "\n")
	for _, r := range rows(page) {
		if _, of := r.cell("Here"); of {
			lines[r.line-1] = ""
		}
	}
	fenced := false
	for i, line := range lines {
		fence := strings.HasPrefix(line, "```")
		if fence || fenced {
			lines[i] = ""
		}
		fenced = fenced != fence
	}
	return lines
}

// annotationKeys returns the annotation keys of package meta and of the packages about stores, the key of the stamp,
// and the finalizer of that form.
func annotationKeys(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, p := range packages(t, "pkg/meta", "pkg/reconciler/managed", "pkg/event", "pkg/storecontroller") {
		for _, c := range p.constants("") {
			if strings.HasPrefix(c.name, "AnnotationKey") || c.name == "StampKey" || c.name == "UnclaimedFinalizer" {
				out[c.value] = true
			}
		}
	}
	return out
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			out[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
