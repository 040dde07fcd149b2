package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// raced returns the folders of the packages that run under the race detector. They are the packages with goroutines of
// their own, the packages that several goroutines call, and the tests of complete systems. It returns no folders of
// modules that are not in the list.
func raced(root string, modules []string) ([]string, error) {
	var folders []string
	for _, m := range modules {
		err := filepath.WalkDir(filepath.Join(root, m), func(folder string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, folder)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if name != m && (ignored(d.Name()) || isModule(folder)) {
				return fs.SkipDir
			}
			tested, concurrent, err := inspect(folder)
			if tested && (concurrent || path.Base(name) == "systemtest") {
				folders = append(folders, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders), nil
}

// ignored reports whether Go sees no packages in a folder of this name.
func ignored(name string) bool {
	return name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// isModule reports whether a folder is the root of a module.
func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil
}

// inspect reads the Go files of a folder: whether there are tests, and whether the code is concurrent.
func inspect(folder string) (tested, concurrent bool, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return false, false, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			tested = true
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return false, false, err
		}
		concurrent = concurrent || isConcurrent(f)
	}
	return tested, concurrent, nil
}

// isConcurrent returns whether a file starts goroutines, or protects data that several goroutines use.
func isConcurrent(f *ast.File) bool {
	for _, i := range f.Imports {
		switch p, _ := strconv.Unquote(i.Path.Value); p {
		case "sync", "sync/atomic", "golang.org/x/sync/errgroup", "golang.org/x/sync/singleflight",
			"golang.org/x/sync/semaphore":
			return true
		}
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		_, starts := n.(*ast.GoStmt)
		found = found || starts
		return !found
	})
	return found
}
