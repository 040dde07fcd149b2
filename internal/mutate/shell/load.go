package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A subject is a package whose functions are mutated.
type subject struct {
	dir        string // as it is named, below the current folder
	abs        string
	path       string // import path
	name       string // of the package
	files      []*file
	tests      []string // names of the test files of the package itself
	outer      []string // and of the package beside it, name_test
	cluster    bool     // its tests share an API server: one mutant at a time
	exports    map[string]string
	candidates []*mutant
	drawn      []*mutant

	binary  string
	startup float64 // seconds that a run takes besides its tests
	took    map[string]float64
}

// A file is one of the sources of a subject, without its tests.
type file struct {
	name string // without folder
	text []byte
	ast  *ast.File
	base int // position of its first byte in the file set
}

func (f *file) offset(p token.Pos) int { return int(p) - f.base }

func (f *file) at(n ast.Node) string { return string(f.text[f.offset(n.Pos()):f.offset(n.End())]) }

func (f *file) line(offset int) int { return bytes.Count(f.text[:offset], []byte("\n")) + 1 }

// A listed is a package as go list prints it.
type listed struct {
	Dir, ImportPath, Name, Export      string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// load parses a package, checks its types and finds its mutants.
func load(ctx context.Context, dir string) (*subject, error) {
	s := &subject{dir: filepath.ToSlash(filepath.Clean(dir)), exports: map[string]string{}}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	// go list and the compiler use the real path of the folder.
	if s.abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, err
	}
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-export",
		"-json=Dir,ImportPath,Name,Export,GoFiles,TestGoFiles,XTestGoFiles",
		".", "fmt", "os", "strconv", "sync", "time") // and the imports of the hooks
	list.Dir = s.abs
	list.Env = append(list.Environ(), "CGO_ENABLED=0")
	var said bytes.Buffer
	list.Stderr = &said
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list %s: %w\n%s", dir, err, said.String())
	}
	var own listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("cannot read what go list says of %s: %w", dir, err)
		}
		if s.exports[l.ImportPath] = l.Export; l.Dir == s.abs {
			own = l
		}
	}
	s.path, s.name, s.tests, s.outer = own.ImportPath, own.Name, own.TestGoFiles, own.XTestGoFiles
	fset := token.NewFileSet()
	for _, name := range own.GoFiles {
		if err := s.parse(fset, name); err != nil {
			return nil, err
		}
	}
	info, errs := s.check(fset)
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s does not compile: %w", dir, errs[0])
	}
	for _, f := range s.files {
		s.candidates = append(s.candidates, mutate(s, f, info)...)
	}
	return s, s.looksForClusters()
}

func (s *subject) parse(fset *token.FileSet, name string) error {
	text, err := os.ReadFile(filepath.Join(s.abs, name))
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	s.files = append(s.files, &file{name: name, text: text, ast: parsed, base: fset.File(parsed.FileStart).Base()})
	return nil
}

// check checks the types of the package with additional files, and returns all errors.
func (s *subject) check(fset *token.FileSet, besides ...*ast.File) (*types.Info, []error) {
	var errs []error
	lookup := func(path string) (io.ReadCloser, error) {
		export := s.exports[path]
		if export == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(export)
	}
	c := types.Config{
		Importer: importer.ForCompiler(fset, "gc", lookup),
		Error:    func(err error) { errs = append(errs, err) },
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	asts := besides
	for _, f := range s.files {
		asts = append(asts, f.ast)
	}
	_, _ = c.Check(s.path, fset, asts, info) // its error is the first of errs
	return info, errs
}

// looksForClusters finds out whether the tests share a control plane. Two concurrent runs would then disturb each
// other.
func (s *subject) looksForClusters() error {
	for _, name := range append(append([]string{}, s.tests...), s.outer...) {
		text, err := os.ReadFile(filepath.Join(s.abs, name))
		if err != nil {
			return err
		}
		s.cluster = s.cluster || strings.Contains(string(text), "devcluster.Join(") ||
			strings.Contains(string(text), "devcluster.Shared(")
	}
	return nil
}
