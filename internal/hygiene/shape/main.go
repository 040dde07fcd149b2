// Command shape prints measures of the code and compares them with the bars that were set for them. "make shape" runs
// it.
//
//	go run ./internal/hygiene/shape
//	go run ./internal/hygiene/shape -list NAME [PACKAGE...]
//
// A row ends with yes if its bar is met, and with no if it is not. It has ? if the code does not show the measure: a
// reader or another command has to find it out. Text in parentheses after a number is not compared with the bar.
//
// With -list it lists findings, in the given packages or in all. NAME is a gate of internal/hygiene (make shape
// LIST=prose PKG=pkg/sim), or order. With order it lists the uses that are against the reading order, in the files of
// the managed reconciler and of the simulator (make shape LIST=order PKG=pkg/reconciler/managed). The row of a gate has
// the name of the gate. These functions define the other rows: fieldBars, passBars, decisionBars, onceBars, sizeBars
// and orderBars.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/moorage-dev/moorage/internal/hygiene/measure"
)

func main() {
	root := flag.String("root", ".", "the folder of the repository")
	list := flag.String("list", "", "a gate, or order: list its findings, in the packages given or in all")
	flag.Parse()
	if err := run(os.Stdout, *root, *list, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, root, list string, packages []string) error {
	t, err := measure.Read(root)
	if err != nil {
		return err
	}
	if list == "" {
		return table(w, bars(t))
	}
	found, err := findings(t, list)
	if err != nil {
		return err
	}
	for _, f := range found {
		if len(packages) > 0 && !slices.Contains(packages, f.Package) {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s:%d: %s\n", f.File, f.Line, f.What); err != nil {
			return err
		}
	}
	return nil
}

// findings returns the findings that -list prints.
func findings(t *measure.Tree, list string) ([]measure.Finding, error) {
	if list == order {
		return against(t), nil
	}
	g, ok := measure.ByName(list)
	if !ok {
		return nil, fmt.Errorf("no gate %q: there are %s, and %s", list, strings.Join(names(), ", "), order)
	}
	return g.Find(t), nil
}

func names() (out []string) {
	for _, g := range measure.Gates {
		out = append(out, g.Name)
	}
	return out
}

func table(w io.Writer, bars []bar) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "met\tmeasured\tbar\twhat")
	for _, b := range bars {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", b.verdict(), b.measured(), b.limit(), b.what)
	}
	return tw.Flush()
}
