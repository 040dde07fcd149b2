// Package measure reads this repository and counts what reviewers have objected to: large structs, comments without the
// name of their function, words to avoid, exceptions for linters that do not run, package variables that change, test
// files without a production file, and long lines.
//
// Read parses the tree once. Each Gate of Gates lists its findings. The tests of internal/hygiene have the allowed
// number of findings per package. The command internal/hygiene/shape prints the findings.
package measure

import (
	"cmp"
	"slices"
)

// A Finding is one place in the code that violates the rule of a gate.
type Finding struct {
	Package string // the folder below the root, with slashes
	File    string // the path below the root
	Line    int
	What    string // the defect, in a few words
}

// A Gate counts one kind of finding. The file of allowed numbers uses its Name.
type Gate struct {
	Name   string
	What   string // the counted findings, in the plural
	Advice string // the remedy for one
	find   func(*Tree) []Finding
}

// Gates are all gates. ByName returns one of them.
var Gates = []Gate{
	{
		"comments", "comments of functions that do not begin with the name",
		`begin it with the exact name of the function, or with "A" or "An" and the name`, comments,
	},
	{"globals", "package variables that change", "make it a field of what uses it, or pass it in", globals},
	{
		"identifiers", "identifiers with a word to avoid",
		"use the term that Kubernetes or controller-runtime has for it", identifiers,
	},
	{"lines", "lines of Go over 120 characters", "break it", longLines},
	{
		"nolint", "nolint comments for linters that do not run",
		"remove it: .golangci.yaml does not enable the linter", nolints,
	},
	{
		"paragraphs", "lines or table cells of pages over 500 characters",
		"split it into shorter paragraphs or cells", longParagraphs,
	},
	{
		"prose", "words to avoid in comments and pages",
		"name the subject, and use the term that Kubernetes or controller-runtime has for it", prose,
	},
	{
		"stems", "test files of pkg without a production file of their stem",
		"name it x_test.go or x_part_test.go after the file x.go that it tests", stems,
	},
	{
		"strings", "words of ships in strings of Go code",
		"name a thing that authors know, such as a bucket or a database", literals,
	},
	{
		"structs", "structs over 20 fields",
		"group the fields that change together into types of their own", structs,
	},
}

// ByName returns a gate, and false if there is none of that name.
func ByName(name string) (Gate, bool) {
	i := slices.IndexFunc(Gates, func(g Gate) bool { return g.Name == name })
	if i < 0 {
		return Gate{}, false
	}
	return Gates[i], true
}

// Find returns the findings of the gate, by file and line.
func (g Gate) Find(t *Tree) []Finding {
	out := g.find(t)
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return out
}

// PerPackage counts findings by package.
func PerPackage(findings []Finding) map[string]int {
	out := map[string]int{}
	for _, f := range findings {
		out[f.Package]++
	}
	return out
}
