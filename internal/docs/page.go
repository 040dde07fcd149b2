package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const regionEnd = "<!-- end -->"

func regionBegin(name string) string { return "<!-- generated: " + name + " -->" }

// fill replaces the text in the region with the name.
func fill(page, name, text string) (string, error) {
	before, rest, begins := strings.Cut(page, regionBegin(name)+"\n")
	_, after, ends := strings.Cut(rest, regionEnd)
	if !begins || !ends {
		return "", fmt.Errorf("there is no region %q: write the lines %q and %q where it belongs", name,
			regionBegin(name), regionEnd)
	}
	return before + regionBegin(name) + "\n\n" + strings.TrimSpace(text) + "\n\n" + regionEnd + after, nil
}

// A row is a row of a table, with the headings above it.
type row struct {
	line     int
	headings []string // the page's, the section's, ...
	header   []string // of the table
	cells    []string
}

// under returns whether the row is below a heading.
func (r row) under(heading string) bool { return slices.Contains(r.headings, heading) }

// cell returns the cell of a column, and whether the table has it.
func (r row) cell(column string) (string, bool) {
	for i, name := range r.header {
		if name == column && i < len(r.cells) {
			return r.cells[i], true
		}
	}
	return "", false
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	divider  = regexp.MustCompile(`^\|[-:| ]+\|$`)
)

// spans returns the texts in backquotes.
func spans(text string) []string {
	var out []string
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// rows returns the rows of all tables of a page. It skips code blocks.
func rows(page string) []row {
	var (
		out      []row
		headings []string
		header   []string
		fenced   bool
	)
	for n, line := range strings.Split(page, "\n") {
		level := len(line) - len(strings.TrimLeft(line, "#"))
		switch {
		case strings.HasPrefix(line, "```"):
			fenced, header = !fenced, nil
		case fenced:
		case level > 0 && strings.HasPrefix(line[level:], " "):
			above := slices.Clone(headings[:min(level-1, len(headings))]) // rows keep the slice
			headings, header = append(above, strings.TrimSpace(line[level:])), nil
		case !strings.HasPrefix(line, "|"):
			header = nil
		case divider.MatchString(line):
		case header == nil:
			header = cells(line)
		default:
			out = append(out, row{line: n + 1, headings: headings, header: header, cells: cells(line)})
		}
	}
	return out
}

func cells(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	parts := strings.Split(line, "|")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts
}

// A block is a fenced block of code.
type block struct {
	line int
	info string // the text after the fence
	text string
}

// blocks returns the fenced blocks of a page.
func blocks(page string) []block {
	var (
		out    []block
		inside bool
	)
	for n, line := range strings.SplitAfter(page, "\n") {
		info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && inside:
			inside = false
		case fence:
			out, inside = append(out, block{line: n + 1, info: info}), true
		case inside:
			out[len(out)-1].text += line
		}
	}
	return out
}

// table returns rows as a table of a page.
func table(header []string, rows [][]string) string {
	var b strings.Builder
	write := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	write(header)
	b.WriteString(strings.Repeat("|---", len(header)) + "|\n")
	for _, r := range rows {
		write(r)
	}
	return b.String()
}
