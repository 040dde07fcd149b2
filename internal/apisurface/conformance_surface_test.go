package apisurface

import (
	"go/token"
	"slices"
	"testing"
)

// The document of the conformance kit has the same tests as the others.
var _ = func() bool {
	documents["conformance"] = struct{ names, methods int }{names: 26, methods: 6}
	return true
}()

// TestConformanceHasNoOtherNames checks that the package exports no name that the document lacks. Other documents
// are about a part of their packages.
func TestConformanceHasNoOtherNames(t *testing.T) {
	lib, err := everything()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range read(t, "conformance").packages {
		pkg, err := lib.Import(module + p.path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			if token.IsExported(name) && !slices.ContainsFunc(p.entries, func(e entry) bool { return e.name == name }) {
				t.Errorf("%s exports %s, which is not in testdata/conformance.golden", p.path, name)
			}
		}
	}
}
