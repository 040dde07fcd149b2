package hygiene

import (
	"strings"
	"testing"
)

// The code a newcomer reads first is a part of an example that is compiled and
// run, to the letter.
func TestReadmeCodeIsCompiled(t *testing.T) {
	_, rest, found := strings.Cut(string(read(t, "README.md")), "```go\n")
	code, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("README.md shows no Go code")
	}
	if !strings.Contains(string(read(t, "pkg/reconciler/managed/example_test.go")), code) {
		t.Error("the code in README.md is not in pkg/reconciler/managed/example_test.go: copy it from there")
	}
	if n := strings.Count(code, "\n"); n > 32 {
		t.Errorf("the code in README.md has %d lines: a whole provider controller fits in 32", n)
	}
}
