package migrate

import _ "embed"

// leftover is the source of the package that a provider gets if its types use what no
// runtime has any more. It belongs to the provider from then on.
//
//go:embed leftover.go.txt
var leftover string

// leftovers adds the package, if it is needed.
func (m *migration) leftovers() {
	if !m.leftover {
		return
	}

	name := "internal/managedspec/managedspec.go"
	m.plan.Files = append(m.plan.Files, File{Path: name, After: leftover, New: true})
}
