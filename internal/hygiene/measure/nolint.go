package measure

import (
	"regexp"
	"slices"
	"strings"
)

var nolint = regexp.MustCompile(`^//\s*nolint(?::([\w,-]+))?(?:\s|$)`)

// nolints finds exceptions for linters that do not run. The linter nolintlint ignores these.
func nolints(t *Tree) (out []Finding) {
	for _, f := range t.Go {
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				m := nolint.FindStringSubmatch(c.Text)
				if m == nil {
					continue
				}
				for _, linter := range strings.Split(m[1], ",") {
					if !slices.Contains(t.linters, linter) {
						out = append(out, f.finding(f.Line(c.Pos()), "%q is not enabled", linter))
					}
				}
			}
		}
	}
	return out
}
