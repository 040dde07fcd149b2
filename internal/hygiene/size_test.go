package hygiene

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/internal/hygiene/measure"
)

// The limits of sizes and of requirements. A number is raised with an ADR.
const (
	maxFunction = 60
	maxFile     = 400
	maxReadme   = 150
	maxSums     = 84 // modules that go.sum records

	// Direct ones. The API of OpenTelemetry is two modules (ADR 5), json-patch is one (ADR 9), and goleak is for tests
	// only.
	maxRequirements = 14
)

// TestSizes checks hand-written code; tests and generated files may be longer.
func TestSizes(t *testing.T) {
	for _, f := range goFiles(t, ".") {
		if f.test() || f.generated() {
			continue
		}
		if n := measure.LineCount(f.text); n > maxFile {
			t.Errorf("%s has %d lines, more than %d: one concept per file", f.name, n, maxFile)
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.line(fn.End()) - f.line(fn.Pos()) + 1; n > maxFunction {
				t.Errorf("%s:%d: %s has %d lines, more than %d: give its parts names", f.name, f.line(fn.Pos()),
					fn.Name.Name, n, maxFunction)
			}
		}
	}
}

func TestReadmeFits(t *testing.T) {
	if n := measure.LineCount(read(t, "README.md")); n > maxReadme {
		t.Errorf("README.md has %d lines, more than %d: move what a newcomer does not need to docs", n, maxReadme)
	}
}

// TestRequirements keeps the library light: every provider inherits the requirements of the root module.
func TestRequirements(t *testing.T) {
	var direct []string
	for _, r := range readMod(t, ".").Require {
		if !r.Indirect {
			direct = append(direct, r.Path)
		}
	}
	if len(direct) > maxRequirements {
		t.Errorf("go.mod has %d direct requirements, more than %d: write an ADR that says why, then change the number.\n%s",
			len(direct), maxRequirements, strings.Join(direct, "\n"))
	}
	sums := map[string]bool{}
	for line := range strings.Lines(string(read(t, "go.sum"))) {
		path, _, _ := strings.Cut(line, " ")
		sums[path] = true
	}
	if len(sums) > maxSums {
		t.Errorf("go.sum records %d modules, more than %d: write an ADR that says why, then change the number",
			len(sums), maxSums)
	}
}
