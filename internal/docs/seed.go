package docs

import (
	"fmt"
	"slices"
	"strings"
)

// differences reads a file that the tests of package xp wrote. It returns the number of cases of each suite that
// hold, and the rows below some headings, grouped by the reason of the difference.
func differences(page string, headings ...string) (string, error) {
	var (
		b       strings.Builder
		heading string
		whys    []string
		cases   = map[string][]string{}
		aspects = map[string][]string{}
	)
	for line := range strings.Lines(page) {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.TrimSpace(h)
		}
		if strings.HasPrefix(line, "- ") && slices.Contains(headings, heading) {
			b.WriteString(line)
		}
	}
	for _, r := range rows(page) {
		if !slices.Contains(headings, r.headings[len(r.headings)-1]) {
			continue
		}
		name, _ := r.cell("Case")
		in, _ := r.cell("In what")
		why, ok := r.cell("Why")
		if !ok {
			return "", fmt.Errorf("line %d has no column Why", r.line)
		}
		if !slices.Contains(whys, why) {
			whys = append(whys, why)
		}
		if !strings.HasPrefix(name, "all but ") {
			name = "`" + name + "`"
		}
		if !slices.Contains(cases[why], name) {
			cases[why] = append(cases[why], name)
		}
		if !slices.Contains(aspects[why], in) {
			aspects[why] = append(aspects[why], in)
		}
	}
	if len(whys) == 0 {
		return "", fmt.Errorf("there is no difference: nothing was read")
	}
	var out [][]string
	for _, why := range whys {
		out = append(out, []string{strings.Join(cases[why], ", "),
			strings.Join(slices.Sorted(slices.Values(aspects[why])), ", "), why})
	}
	b.WriteString("\n" + table([]string{"Cases", "Differs in", "Why"}, out))
	return b.String(), nil
}

// An api is the part of a golden file about one package.
type api struct {
	path  string
	names []string // types, functions, constants and variables, sorted
	more  int      // methods
}

// readAPI reads a golden file: "package PATH", then a declaration on each line.
func readAPI(text string) []api {
	var out []api
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[0] == "package":
			out = append(out, api{path: words[1]})
		case len(out) == 0 || !slices.Contains([]string{"func", "type", "const", "var"}, words[0]):
		case strings.HasPrefix(words[1], "("):
			out[len(out)-1].more++
		default:
			name, _, _ := strings.Cut(words[1], "(")
			name, _, _ = strings.Cut(name, "[")
			out[len(out)-1].names = append(out[len(out)-1].names, name)
		}
	}
	for _, a := range out {
		slices.Sort(a.names)
	}
	return out
}

// namesPerRow limits the length of the cells in the table of names.
const namesPerRow = 12

// renderAPI returns a table of the names that stay the same, package by package.
func renderAPI(apis []api) string {
	var (
		out           [][]string
		names, method int
	)
	for _, a := range apis {
		all := make([]string, len(a.names))
		for i, name := range a.names {
			all[i] = "`" + name + "`"
		}
		for row := range slices.Chunk(all, namesPerRow) {
			out = append(out, []string{"`" + a.path + "`", strings.Join(row, ", ")})
		}
		names, method = names+len(a.names), method+a.more
	}
	return fmt.Sprintf("%d names and %d methods:\n\n%s", names, method,
		table([]string{"Package", "Names that are the same here"}, out))
}
