package docs

import (
	"strings"
	"testing"
)

const (
	referencesPage     = "docs/references.md"
	referencesExamples = "pkg/reference/resolver_example_test.go"
)

// TestReferencesPage checks that the code of the page is code of the examples, which are compiled and run.
func TestReferencesPage(t *testing.T) {
	examples, code := read(t, referencesExamples), 0
	for _, b := range blocks(read(t, referencesPage)) {
		if b.info != "go" {
			continue
		}
		code++
		if !strings.Contains(examples, b.text) {
			t.Errorf("%s:%d: %s does not have this code:\n%s", referencesPage, b.line, referencesExamples, b.text)
		}
	}
	if code < 5 {
		t.Errorf("%s has %d blocks of Go code", referencesPage, code)
	}
}
