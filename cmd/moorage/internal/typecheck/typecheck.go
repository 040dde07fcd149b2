// Package typecheck finds out whether new Go files of a module compile with the files that
// are there. It resolves the packages of the module alone, and needs neither the go
// command nor the sources of other modules. Start with [Check].
package typecheck

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// A Finding is an error of the compiler.
type Finding struct {
	// Path of the file below the folder of the module, with slashes, and the place in it.
	Path         string
	Line, Column int

	// Message of the compiler.
	Message string
}

// String returns the finding as the go command prints it.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.Path, f.Line, f.Column, f.Message)
}

// Check returns what does not compile in the added files of a module, whose other files are in
// there. The added files have the paths that they have there. An added file replaces one.
//
// Only the packages below the folder internal are checked, and only they are resolved. What
// belongs to another package counts as right, but the fields and methods that it adds to a
// type by embedding are not known: they are reported as missing. Compare with the findings
// for files that compile. Each message is reported once per file. An error means that a file
// cannot be read, or that an added file is no Go.
func Check(there fs.FS, module string, added map[string][]byte) ([]Finding, error) {
	c := &checker{
		there: there, module: module, added: added,
		files: token.NewFileSet(), packages: map[string]*types.Package{},
	}

	for _, folder := range c.folders() {
		if err := c.folder(folder); err != nil {
			return nil, err
		}
	}

	return c.found, nil
}

// below is the folder of the packages that are resolved.
const below = "internal/"

// errElsewhere is returned for a package that is not resolved.
var errElsewhere = errors.New("the package is not resolved")

type checker struct {
	there    fs.FS
	module   string
	added    map[string][]byte
	files    *token.FileSet
	packages map[string]*types.Package // by their folders; nil while the package is resolved
	found    []Finding
}

// folders returns the folders of the added files, sorted.
func (c *checker) folders() []string {
	all := map[string]bool{}

	for name := range c.added {
		if strings.HasPrefix(name, below) && path.Ext(name) == ".go" {
			all[path.Dir(name)] = true
		}
	}

	return slices.Sorted(maps.Keys(all))
}

// folder checks the packages of a folder: the package, the package with its tests, and the
// external tests.
func (c *checker) folder(folder string) error {
	sources, err := c.parse(folder)
	if err != nil {
		return err
	}

	byName := map[string][]*ast.File{}
	for _, s := range sources {
		byName[s.Name.Name] = append(byName[s.Name.Name], s)
	}

	for _, name := range slices.Sorted(maps.Keys(byName)) {
		c.check(path.Join(c.module, folder), byName[name], c.report)
	}

	return nil
}

// Import resolves a package below internal without its tests. It implements types.Importer.
func (c *checker) Import(name string) (*types.Package, error) {
	folder, ok := strings.CutPrefix(name, c.module+"/")
	if !ok || !strings.HasPrefix(folder, below) {
		return nil, errElsewhere
	}

	if resolved, ok := c.packages[folder]; ok {
		if resolved == nil {
			return nil, errElsewhere // an import cycle, which the compiler reports
		}

		return resolved, nil
	}

	c.packages[folder] = nil

	sources, err := c.parse(folder)
	if err != nil {
		return nil, err
	}

	sources = slices.DeleteFunc(sources, func(s *ast.File) bool {
		return strings.HasSuffix(c.files.Position(s.Pos()).Filename, "_test.go")
	})
	if len(sources) == 0 {
		return nil, errElsewhere
	}

	c.packages[folder] = c.check(name, sources, func(error) {})

	return c.packages[folder], nil
}

func (c *checker) check(name string, sources []*ast.File, report func(error)) *types.Package {
	config := types.Config{Importer: c, Error: report, DisableUnusedImportCheck: true}
	checked, _ := config.Check(name, c.files, sources, nil) // report has the errors

	return checked
}

// report keeps an error in an added file. An import that is not resolved is none.
func (c *checker) report(err error) {
	var wrong types.Error
	if !errors.As(err, &wrong) || strings.HasPrefix(wrong.Msg, "could not import ") {
		return
	}

	at := c.files.Position(wrong.Pos)
	f := Finding{Path: at.Filename, Line: at.Line, Column: at.Column, Message: wrong.Msg}

	if c.added[f.Path] == nil || slices.ContainsFunc(c.found, func(other Finding) bool {
		return other.Path == f.Path && other.Message == f.Message
	}) {
		return
	}

	c.found = append(c.found, f)
}

// parse returns the files of a folder as they will be. A file that is no Go is left out, unless it is added.
func (c *checker) parse(folder string) ([]*ast.File, error) {
	texts, err := c.read(folder)
	if err != nil {
		return nil, err
	}

	var out []*ast.File

	for _, name := range slices.Sorted(maps.Keys(texts)) {
		parsed, err := parser.ParseFile(c.files, name, texts[name], parser.SkipObjectResolution)
		if err != nil && c.added[name] != nil {
			return nil, err
		}

		if err == nil {
			out = append(out, parsed)
		}
	}

	return out, nil
}

// read returns the Go files of a folder that this system builds, with those that are added.
func (c *checker) read(folder string) (map[string][]byte, error) {
	system := build.Default
	system.JoinPath = path.Join
	system.OpenFile = func(name string) (io.ReadCloser, error) { return c.there.Open(name) }

	entries, err := fs.ReadDir(c.there, folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	out := map[string][]byte{}

	for _, e := range entries {
		if e.IsDir() || path.Ext(e.Name()) != ".go" {
			continue
		}

		if built, err := system.MatchFile(folder, e.Name()); err != nil || !built {
			continue
		}

		name := path.Join(folder, e.Name())
		if out[name], err = fs.ReadFile(c.there, name); err != nil {
			return nil, err
		}
	}

	for name, text := range c.added {
		if path.Dir(name) == folder && path.Ext(name) == ".go" {
			out[name] = text
		}
	}

	return out, nil
}
