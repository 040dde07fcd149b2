package apisurface

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
)

// A library imports compiled packages.
type library struct {
	types.Importer
	fset *token.FileSet
}

// load compiles the packages and their dependencies, as go build would, and returns a library of them.
func load(dir string, paths ...string) (library, error) {
	cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Export", "--"},
		paths...)...)
	cmd.Dir = dir
	// Also under the race detector: the types are the same, and no package is compiled twice.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return library{}, fmt.Errorf("cannot compile the packages: %w\n%s", err, complaint.String())
	}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return library{}, fmt.Errorf("cannot read what go list answered: %w", err)
		}
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	return library{importer.ForCompiler(fset, "gc", open), fset}, nil
}

// check type-checks a file. Unused imports are no error.
func (l library) check(src string) (*types.Package, error) {
	file, err := parser.ParseFile(l.fset, "golden.go", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var mistakes []error
	conf := types.Config{Importer: l.Importer, Error: func(err error) {
		var e types.Error
		if !errors.As(err, &e) || !e.Soft {
			mistakes = append(mistakes, err)
		}
	}}
	pkg, err := conf.Check("golden", l.fset, []*ast.File{file}, nil)
	if err != nil && len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	return pkg, nil
}
