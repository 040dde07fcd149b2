package main

import (
	"fmt"
	"strings"

	"github.com/moorage-dev/moorage/internal/hygiene/measure"
)

// A bar is one row: a number, and the most that it may be.
type bar struct {
	what string
	is   int // unknown if it cannot be found
	most int // unknown if no number is the bar
	note string
}

// unknown stands for a number that this command cannot find: the name that it looks for is gone, or only a reader can
// tell.
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

// Where the heart of the library is.
const (
	managedDir   = "pkg/reconciler/managed"
	lifecycleDir = "pkg/reconciler/managed/internal/lifecycle"
	stateDir     = "internal/objectstate"
	simDir       = "internal/sim"
)

// What pkg had when these bars were set: lines, of which 3,700 are to go, and exported names, which are to stay or
// become fewer.
const (
	linesThen    = 73750
	fewerLines   = 3700
	exportedThen = 1949
)

// bars returns every row, in the order of the text that set them.
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
	return append(out,
		bar{what: "questions that a reader of an hour answers wrong, of ten: only people can tell", is: unknown, most: 2},
		bar{
			what: "requests, allocations, corpus, golden API, mutants: go test ./pkg/reconciler/managed ./internal/sim " +
				"./internal/apisurface, make mutate mutants",
			is: unknown, most: unknown,
		},
	)
}

// gateBar is the row of a gate of internal/hygiene.
func gateBar(t *measure.Tree, name string, most int) bar {
	g, _ := measure.ByName(name)
	return bar{what: g.What + " (gate " + name + ")", is: len(g.Find(t)), most: most}
}

// fieldBars are the sizes of the three structs that a pass is made of.
func fieldBars(t *measure.Tree) []bar {
	sizes := map[string]int{}
	for _, s := range t.Structs() {
		sizes[s.File.Dir()+"."+s.Name] = s.Fields
	}
	of := func(names ...string) int {
		n := unknown
		for _, name := range names {
			if size, ok := sizes[name]; ok {
				n = max(n, 0) + size
			}
		}
		return n
	}
	memory := of(stateDir+".State", stateDir+".Cold", managedDir+".memo", managedDir+".troubles",
		managedDir+".objectState", managedDir+".coldState")
	return []bar{
		{what: "fields of pass", is: of(managedDir + ".pass"), most: 16},
		{what: "fields of Reconciler, its config apart", is: of(managedDir + ".Reconciler"), most: 20},
		{what: "fields of the memory of an object, of its parts together", is: memory, most: 16},
	}
}

// sizeBars count lines and names.
func sizeBars(t *measure.Tree) []bar {
	library, simulator, managed := 0, 0, 0
	for _, f := range t.Go {
		if f.Test() || f.Generated() {
			continue
		}
		if f.In("pkg") {
			library += measure.LineCount(f.Text)
		}
		if f.In(simDir) {
			simulator += measure.LineCount(f.Text)
		}
		if f.In(managedDir) {
			managed += measure.LineCount(f.Text)
		}
	}
	return []bar{
		{what: "lines of pkg without tests", is: library, most: linesThen - fewerLines},
		{
			what: "lines of internal/sim without tests: the simulator, which was in pkg when the bar of pkg was set",
			is:   simulator, note: fmt.Sprintf("(with pkg %d)", simulator+library), most: unknown,
		},
		{what: "lines of managed and its internal packages without tests", is: managed, most: 8500},
		{what: "exported names of the public packages of pkg, with methods", is: exported(t), most: exportedThen},
	}
}
