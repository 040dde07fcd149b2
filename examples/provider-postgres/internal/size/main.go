// Command size counts lines of Go in folders, such as "go run ./internal/size apis internal/postgres". Blank lines,
// comments, tests and generated files do not count. The section Size of the README has its figures.
package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	total := 0
	for _, folder := range os.Args[1:] {
		n, err := count(os.DirFS(filepath.Clean(folder)))
		if err != nil {
			fmt.Fprintf(os.Stderr, "cannot count %s: %v\n", folder, err)
			os.Exit(1)
		}
		fmt.Printf("%6d %s\n", n, folder)
		total += n
	}
	fmt.Printf("%6d in all\n", total)
}

// count returns the lines of the files in a folder and in its folders.
func count(folder fs.FS) (int, error) {
	total := 0
	err := fs.WalkDir(folder, ".", func(path string, _ fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.HasPrefix(name, "zz_generated.") {
			return err
		}
		text, err := fs.ReadFile(folder, path)
		total += lines(text)

		return err
	})

	return total, err
}

// lines returns how many lines of a file have a token.
func lines(text []byte) int {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	has := map[int]bool{}
	for {
		at, kind, literal := s.Scan()
		if kind == token.EOF {
			return len(has)
		}
		if kind == token.SEMICOLON && literal == "\n" { // the scanner adds it
			continue
		}
		first := file.Line(at)
		for i := range 1 + strings.Count(literal, "\n") {
			has[first+i] = true
		}
	}
}
