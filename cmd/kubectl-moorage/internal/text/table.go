package text

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// widest is how many characters a cell may have to determine the width of its column. A longer cell is written whole,
// and moves the cells to its right in its row alone.
const widest = 60

// A Table writes rows with aligned columns, as kubectl does. It is used by one goroutine.
type Table struct {
	to   io.Writer
	rows [][]string
}

// NewTable returns a table with the header.
func NewTable(to io.Writer, header ...string) *Table { return &Table{to: to, rows: [][]string{header}} }

// Row adds a row. Each cell is put on one line, see [Line].
func (t *Table) Row(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = Line(c)
	}

	t.rows = append(t.rows, row)
}

// Flush writes the rows. It returns the error of the writer.
func (t *Table) Flush() error {
	const gap = 3

	widths, out := t.widths(), bufio.NewWriter(t.to)

	for _, row := range t.rows {
		last := len(row) - 1
		for last >= 0 && row[last] == "" {
			last--
		}

		for i := range last {
			fmt.Fprint(out, row[i], strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(row[i]))+gap))
		}

		fmt.Fprintln(out, row[max(0, last)])
	}

	return out.Flush()
}

// widths returns the width of each column.
func (t *Table) widths() (out []int) {
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(out) {
				out = append(out, 0)
			}

			if n := utf8.RuneCountInString(c); n <= widest {
				out[i] = max(out[i], n)
			}
		}
	}

	return out
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
