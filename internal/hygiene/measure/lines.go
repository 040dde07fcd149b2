package measure

import (
	"strings"
	"unicode/utf8"
)

// The maximum number of characters of a line of Go, and of a line or a table cell of a page.
const (
	MaxLine      = 120
	MaxParagraph = 500
)

// longLines finds long lines of hand-written Go. A tab counts as one character. Directives and markers do not count,
// because they cannot be broken.
func longLines(t *Tree) (out []Finding) {
	for _, f := range t.Go {
		if f.Generated() {
			continue
		}
		n := 0
		for line := range strings.Lines(string(f.Text)) {
			n++
			if len(line) <= MaxLine || isDirective(line) {
				continue
			}
			if length := utf8.RuneCountInString(strings.TrimRight(line, "\n")); length > MaxLine {
				out = append(out, f.finding(n, "%d characters", length))
			}
		}
	}
	return out
}

func isDirective(line string) bool {
	line = strings.TrimSpace(line)
	for _, prefix := range []string{"//go:", "// +", "//+"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// longParagraphs finds long lines of pages. In a row of a table each cell counts separately. Code does not count.
func longParagraphs(t *Tree) (out []Finding) {
	for _, f := range t.Pages {
		for n, line := range proseLines(f) {
			units := []string{line}
			if strings.HasPrefix(line, "|") {
				units = strings.Split(strings.ReplaceAll(line, `\|`, "  "), "|")
			}
			for _, unit := range units {
				if length := utf8.RuneCountInString(strings.TrimSpace(unit)); length > MaxParagraph {
					out = append(out, f.finding(n, "%d characters", length))
				}
			}
		}
	}
	return out
}

// proseLines yields the lines of a page outside code blocks, with their numbers.
func proseLines(f *File) func(func(int, string) bool) {
	return func(yield func(int, string) bool) {
		n, fenced := 0, false
		for line := range strings.Lines(string(f.Text)) {
			n++
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
				continue
			}
			if !fenced && !strings.HasPrefix(line, "    ") && !yield(n, line) {
				return
			}
		}
	}
}
