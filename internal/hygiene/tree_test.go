package hygiene

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/moorage-dev/moorage/internal/hygiene/measure"
)

const root = "../.."

// A goFile is a parsed source file; name is its path below the root.
type goFile struct {
	name string
	text []byte
	fset *token.FileSet
	ast  *ast.File
}

func (f goFile) dir() string            { return filepath.ToSlash(filepath.Dir(f.name)) }
func (f goFile) test() bool             { return strings.HasSuffix(f.name, "_test.go") }
func (f goFile) generated() bool        { return ast.IsGenerated(f.ast) }
func (f goFile) line(pos token.Pos) int { return f.fset.Position(pos).Line }

// tree is the repository, which is parsed once for all tests.
var tree = sync.OnceValues(func() (*measure.Tree, error) { return measure.Read(root) })

// readTree returns the parsed repository.
func readTree(t *testing.T) *measure.Tree {
	t.Helper()
	parsed, err := tree()
	if err != nil {
		t.Fatalf("cannot read the repository: %v", err)
	}
	return parsed
}

// files returns the path below the root of every file that fits. Data of tests, built files and git's own are left out.
func files(t *testing.T, fits func(name string) bool) []string {
	t.Helper()
	out, err := measure.Files(root, fits)
	if err != nil {
		t.Fatalf("cannot read the repository: %v", err)
	}
	return out
}

// goFiles returns the parsed Go files in these folders, tests and generated ones included.
func goFiles(t *testing.T, dirs ...string) []goFile {
	t.Helper()
	parsed := readTree(t)
	var out []goFile
	for _, f := range parsed.Go {
		if f.In(dirs...) {
			out = append(out, goFile{f.Name, f.Text, parsed.Fset, f.AST})
		}
	}
	if len(out) == 0 {
		t.Fatalf("no Go file in %v: nothing was checked", dirs)
	}
	return out
}

// read returns a file of the repository.
func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A goMod is the content of a go.mod.
type goMod struct {
	Go      string
	Require []struct {
		Path, Version string
		Indirect      bool
	}
}

// version returns the version of a module, or of Go itself.
func (m goMod) version(path string) string {
	if path == "go" {
		return m.Go
	}
	for _, r := range m.Require {
		if r.Path == path {
			return r.Version
		}
	}
	return ""
}

// readMod returns the content of the go.mod in a folder.
func readMod(t *testing.T, dir string) goMod {
	t.Helper()
	read(t, filepath.Join(dir, "go.mod")) // makes the cached result of the test depend on it
	cmd := exec.Command("go", "mod", "edit", "-json")
	cmd.Dir = filepath.Join(root, dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("cannot read go.mod in %s: %v", dir, err)
	}
	var m goMod
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatalf("cannot read go.mod in %s: %v", dir, err)
	}
	return m
}
