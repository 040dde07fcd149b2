package migrate

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Diff returns the plan as a unified diff.
func (p Plan) Diff() string {
	var out strings.Builder

	for _, f := range p.Files {
		out.WriteString(udiff.Unified("a/"+f.Path, "b/"+f.Path, f.Before, f.After))
	}

	return out.String()
}
