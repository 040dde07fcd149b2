// Command shape prints what the shape of the code is measured by, how this tree stands, and the bar. "make shape"
// runs it.
//
// With -list and a gate of internal/hygiene it lists what the gate objects to instead; packages after that are the
// only ones listed.
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
	list := flag.String("list", "", "a gate: list its findings, in the packages given or in all")
	flag.Parse()
	if err := run(os.Stdout, *root, *list, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, root, gate string, packages []string) error {
	t, err := measure.Read(root)
	if err != nil {
		return err
	}
	if gate == "" {
		return table(w, bars(t))
	}
	g, ok := measure.ByName(gate)
	if !ok {
		return fmt.Errorf("no gate %q: there are %s", gate, strings.Join(names(), ", "))
	}
	for _, f := range g.Find(t) {
		if len(packages) > 0 && !slices.Contains(packages, f.Package) {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s:%d: %s\n", f.File, f.Line, f.What); err != nil {
			return err
		}
	}
	return nil
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
