package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// A Table writes rows with aligned columns, as kubectl does. It is used by one goroutine.
type Table struct {
	to    io.Writer
	cells *tabwriter.Writer
	text  *bytes.Buffer
}

// NewTable returns a table with the header.
func NewTable(to io.Writer, header ...string) Table {
	const gap = 3

	t := Table{to: to, text: &bytes.Buffer{}}
	t.cells = tabwriter.NewWriter(t.text, 0, 0, gap, ' ', 0)
	t.Row(header...)

	return t
}

// Row adds a row. Each cell is put on one line, see [Line].
func (t Table) Row(cells ...string) {
	for _, c := range cells {
		fmt.Fprint(t.cells, Line(c)+"\t")
	}

	fmt.Fprintln(t.cells)
}

// Flush writes the rows. It returns the error of the writer.
func (t Table) Flush() error {
	if err := t.cells.Flush(); err != nil {
		return err
	}

	for line := range strings.Lines(t.text.String()) {
		if _, err := fmt.Fprintln(t.to, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}

	return nil
}

// Age returns how long ago t was, in the form of kubectl: "45s", "12m", "3h" or "2d". The age of the zero time is
// "unknown".
func Age(now, t time.Time) string {
	const day = 24 * time.Hour

	d := max(0, now.Sub(t))

	switch {
	case t.IsZero():
		return "unknown"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d/day))
	}
}
