package apisurface

import (
	"fmt"
	"regexp"
	"strings"
)

// A surface is the content of a golden file.
type surface struct {
	imports  []string // "name path", path in quotes
	packages []section
}

// A section is the API of one package, path below the module.
type section struct {
	path    string
	entries []entry
}

// An entry is one line of a golden file.
type entry struct {
	kind string // func, method, type, const or var
	recv string // of a method: T or *T
	name string
	rest string // the text after the name: a signature, a type, a value
}

var declaration = regexp.MustCompile(`^(func|type|const|var) (?:\((\*?\w+)\) )?(\w+) ?(.*)$`)

// parse reads a golden file. It ignores empty lines and those that begin with #.
func parse(text string) (surface, error) {
	var s surface
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "import":
			s.imports = append(s.imports, rest)
		case "package":
			s.packages = append(s.packages, section{path: rest})
		default:
			e, err := parseEntry(line)
			if err != nil {
				return surface{}, err
			}
			if len(s.packages) == 0 {
				return surface{}, fmt.Errorf("%q belongs to no package", line)
			}
			last := &s.packages[len(s.packages)-1]
			last.entries = append(last.entries, e)
		}
	}
	return s, nil
}

func parseEntry(line string) (entry, error) {
	m := declaration.FindStringSubmatch(line)
	if m == nil {
		return entry{}, fmt.Errorf("%q is no declaration", line)
	}
	e := entry{kind: m[1], recv: m[2], name: m[3], rest: m[4]}
	if e.recv != "" {
		e.kind = "method"
	}
	return e, nil
}

// source returns a Go file that declares the entries, the nth under the name placeholder(n), as if they were in the
// package at this path.
func (s surface) source(path string, entries []entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package golden\n\nimport (\n\t. %q\n", path)
	for _, i := range s.imports {
		fmt.Fprintf(&b, "\t%s\n", i)
	}
	b.WriteString(")\n\n")
	for n, e := range entries {
		switch e.kind {
		case "func", "method":
			fmt.Fprintf(&b, "type %s func%s\n", placeholder(n), e.rest)
		default:
			fmt.Fprintf(&b, "%s %s %s\n", e.kind, placeholder(n), e.rest)
		}
	}
	return b.String()
}

func placeholder(n int) string { return fmt.Sprintf("entry%d", n) }
