package main

import (
	"fmt"
	"go/ast"
	"strings"

	"github.com/moorage-dev/moorage/internal/hygiene/measure"
)

// A bar is one row of the output: a number and its maximum.
type bar struct {
	what string
	is   int    // unknown if the text of the tree does not show it
	most int    // unknown if no number is the bar
	note string // beside the number, and not compared
}

// unknown stands for a number that this command cannot determine. Either a name that it needs no longer exists, or only
// a reader or another command can find out the number.
const unknown = -1

func (b bar) verdict() string {
	switch {
	case b.is == unknown || b.most == unknown:
		return "?"
	case b.is > b.most:
		return "no"
	default:
		return "yes"
	}
}

func (b bar) measured() string {
	if b.is == unknown {
		return "-"
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", b.is, b.note))
}

func (b bar) limit() string {
	if b.most == unknown {
		return "-"
	}
	return fmt.Sprintf("<= %d", b.most)
}

// The packages of the managed reconciler, of its decision and of its memory of objects.
const (
	managedDir   = "pkg/reconciler/managed"
	lifecycleDir = "pkg/reconciler/managed/internal/lifecycle"
	stateDir     = "internal/objectstate"
)

// The size of pkg at commit 3bb830de: lines, with those of the simulator, of which 3,700 are to be removed, and
// exported names, of which no more are to be added.
const (
	linesThen    = 73750
	fewerLines   = 3700
	exportedThen = 1949
)

// bars returns every row.
func bars(t *measure.Tree) []bar {
	m, l := t.Package(managedDir), t.Package(lifecycleDir)
	out := fieldBars(t)
	out = append(out, gateBar(t, "structs", 0))
	out = append(out, passBars(m, l)...)
	out = append(out, decisionBars(m, l)...)
	out = append(out,
		bar{what: "comments of unexported functions that begin with a capitalized form of the name", is: t.Capitalized()},
		gateBar(t, "comments", 0),
		gateBar(t, "identifiers", 0),
		gateBar(t, "prose", 0),
		gateBar(t, "nolint", 0),
		gateBar(t, "globals", 2),
		gateBar(t, "stems", 60),
		gateBar(t, "lines", 0),
		gateBar(t, "paragraphs", 0),
	)
	out = append(out, onceBars(t)...)
	out = append(out, sizeBars(t)...)
	out = append(out, orderBars(t)...)
	return append(out,
		bar{
			what: "requests, allocations, corpus, golden API, mutants: go test ./pkg/reconciler/managed ./internal/sim " +
				"./internal/apisurface, make mutate mutants",
			is: unknown, most: unknown,
		},
	)
}

// gateBar returns the row of a gate of internal/hygiene.
func gateBar(t *measure.Tree, name string, most int) bar {
	g, _ := measure.ByName(name)
	return bar{what: g.What + " (gate " + name + ")", is: len(g.Find(t)), most: most}
}

// fieldBars returns the sizes of a pass, of a reconciler and of the memory of an object. A field that is a struct
// counts as one, because the struct is a concept of its own. The number in parentheses counts the fields of embedded
// structs instead, because code uses them like fields of the outer struct.
func fieldBars(t *measure.Tree) []bar {
	structs := map[string]measure.Struct{}
	for _, s := range t.Structs() {
		structs[s.File.Dir()+"."+s.Name] = s
	}
	of := func(what string, most int, names ...string) bar {
		b := bar{what: what, is: unknown, most: most}
		promoted := 0
		for _, name := range names {
			if s, ok := structs[name]; ok {
				b.is = max(b.is, 0) + s.Fields
				promoted += promotedFields(structs, s)
			}
		}
		if promoted > b.is {
			b.note = fmt.Sprintf("(%d with those of embedded structs)", promoted)
		}
		return b
	}
	return []bar{
		of("fields of pass, a struct counted as one", 16, managedDir+".pass"),
		of("fields of Reconciler, its config counted as one", 20, managedDir+".Reconciler"),
		of("fields of the memory of an object, its groups counted as one", 16, stateDir+".State", stateDir+".Cold",
			managedDir+".objectState", managedDir+".coldState"),
	}
}

// promotedFields counts the fields of a struct. It replaces an embedded struct of the same package by the fields of
// that struct.
func promotedFields(structs map[string]measure.Struct, s measure.Struct) (n int) {
	for _, field := range s.Type.Fields.List {
		inner, ok := structs[s.File.Dir()+"."+embedded(field)]
		if ok && len(field.Names) == 0 {
			n += promotedFields(structs, inner)
		} else {
			n += max(1, len(field.Names))
		}
	}
	return n
}

// embedded returns the name of the type of an embedded field if the type is in the package itself.
func embedded(field *ast.Field) string {
	e := field.Type
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if id, ok := e.(*ast.Ident); ok && len(field.Names) == 0 {
		return id.Name
	}
	return ""
}

// sizeBars count lines and names. The simulator and the rules of apicore were in
// pkg at commit 3bb830de, so their lines count wherever they are.
func sizeBars(t *measure.Tree) []bar {
	library, managed := 0, 0
	for _, f := range t.Go {
		if f.Test() || f.Generated() {
			continue
		}
		if f.In("pkg", "internal/apicore") || f.In(simulatorDirs...) {
			library += measure.LineCount(f.Text)
		}
		if f.In(managedDir) {
			managed += measure.LineCount(f.Text)
		}
	}
	return []bar{
		{what: "lines of pkg, of the simulator and of apicore without tests", is: library, most: linesThen - fewerLines},
		{what: "lines of managed and its internal packages without tests", is: managed, most: 8500},
		{what: "exported names of the public packages of pkg, with methods", is: exported(t), most: exportedThen},
	}
}
