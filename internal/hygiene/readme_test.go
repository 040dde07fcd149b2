package hygiene

import (
	"strings"
	"testing"
)

// The most lines of a whole controller of a provider.
const maxController = 34

// TestReadmeCodeIsCompiled checks that the code in the README is a part of an example that is compiled and run.
func TestReadmeCodeIsCompiled(t *testing.T) {
	example := string(read(t, "pkg/reconciler/managed/example_test.go"))
	blocks := strings.Split(string(read(t, "README.md")), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("README.md shows no Go code")
	}
	for i, block := range blocks {
		code, _, closed := strings.Cut(block, "```")
		if !closed || !strings.Contains(example, code) {
			t.Errorf("block %d of the code in README.md is not in pkg/reconciler/managed/example_test.go: copy it from "+
				"there", i+1)
		}
		if n := strings.Count(code, "\n"); n > maxController {
			t.Errorf("block %d of the code in README.md has %d lines, want at most %d", i+1, n, maxController)
		}
	}
}
