package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/merge"
	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// show prints a region of a change with its context.
func show(out io.Writer, c scaffold.Change, n int) {
	r := c.Regions[n]

	what := map[bool]string{true: "", false: ", which you do not have"}[c.Mine.Exists]
	if c.Mine.Exists && !c.Now.Exists {
		what = ", which is not made any more"
	}

	line := 1
	for _, before := range c.Regions[:n] {
		line += len(before.Mine)
	}

	from := r.Mine

	if r.State == merge.Clash {
		fmt.Fprintf(out,
			"\nconflict  %s:%d%s: you changed the same lines; this is what the template changed, to do by hand\n", c.Path, line,
			what)

		from = r.Base
	} else {
		fmt.Fprintf(out, "\nchange    %s:%d%s\n", c.Path, line, what)
	}

	if n > 0 {
		printLines(out, "  ", last(c.Regions[n-1].Mine))
	}

	printLines(out, "- ", from)
	printLines(out, "+ ", r.Theirs)

	if n+1 < len(c.Regions) {
		printLines(out, "  ", firsts(c.Regions[n+1].Mine))
	}
}

// around is the number of context lines before and after a change.
const around = 3

func last(lines []string) []string   { return lines[max(0, len(lines)-around):] }
func firsts(lines []string) []string { return lines[:min(around, len(lines))] }

func printLines(out io.Writer, mark string, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(out, mark+strings.TrimSuffix(line, "\n"))
	}
}
