package hygiene

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// files returns the path below the root of every file that fits, in the folders given or, without any, in all. Data of tests, built files and git's own are left
// out.
func files(t *testing.T, fits func(name string) bool, dirs ...string) []string {
	t.Helper()
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	var out []string
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			switch {
			case d.IsDir() && slices.Contains([]string{".git", "bin", "testdata"}, d.Name()):
				return fs.SkipDir
			case d.IsDir() || d.Name() == ".git": // a work tree of git's has a file of that name
				return nil
			}
			name, err := filepath.Rel(root, path)
			if err == nil && d.Type().IsRegular() && fits(name) {
				out = append(out, name)
			}
			return err
		})
		if err != nil {
			t.Fatalf("cannot read the repository: %v", err)
		}
	}
	return out
}

// goFiles returns the parsed Go files in these folders, tests and generated ones included.
func goFiles(t *testing.T, dirs ...string) []goFile {
	t.Helper()
	var out []goFile
	for _, name := range files(t, func(name string) bool { return filepath.Ext(name) == ".go" }, dirs...) {
		text := read(t, name)
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("cannot parse: %v", err)
		}
		out = append(out, goFile{name, text, fset, parsed})
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

// A goMod is what a go.mod says.
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

// readMod returns what the go.mod in a folder says.
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

// lines counts lines as wc does, and a last one without an end as well.
func lines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}
