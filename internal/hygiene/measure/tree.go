package measure

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// A Tree is the text of a repository. It may be read concurrently.
type Tree struct {
	Fset  *token.FileSet
	Go    []*File // by name
	Pages []*File // Markdown, by name; AST is nil

	linters []string // those that .golangci.yaml enables
}

// A File is one file of a Tree.
type File struct {
	Name string // its path below the root, with slashes
	Text []byte
	AST  *ast.File
	fset *token.FileSet
}

// Dir returns the folder of the file below the root.
func (f *File) Dir() string { return path.Dir(f.Name) }

// Test returns whether the file is a test file.
func (f *File) Test() bool { return strings.HasSuffix(f.Name, "_test.go") }

// Generated returns whether a program generated the file.
func (f *File) Generated() bool { return f.AST != nil && ast.IsGenerated(f.AST) }

// Line returns the line of a position in the file.
func (f *File) Line(pos token.Pos) int { return f.fset.Position(pos).Line }

// In returns whether the file is below one of the folders.
func (f *File) In(dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return dir == "." || strings.HasPrefix(f.Name, dir+"/") })
}

// finding returns a Finding at a line of the file.
func (f *File) finding(line int, format string, args ...any) Finding {
	return Finding{Package: f.Dir(), File: f.Name, Line: line, What: fmt.Sprintf(format, args...)}
}

// Files returns the paths below root of all regular files for which fits returns true. It omits test data, built files
// and files of git.
func Files(root string, fits func(name string) bool) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && slices.Contains([]string{".git", "bin", "testdata"}, d.Name()):
			return fs.SkipDir
		case d.IsDir() || d.Name() == ".git": // a worktree of git has a file of that name
			return nil
		}
		name, err := filepath.Rel(root, path)
		if name = filepath.ToSlash(name); err == nil && d.Type().IsRegular() && fits(name) {
			out = append(out, name)
		}
		return err
	})
	return out, err
}

// Read parses the Go files and pages below root. It also reads the names of the linters that run.
func Read(root string) (*Tree, error) {
	names, err := Files(root, func(name string) bool { return slices.Contains([]string{".go", ".md"}, path.Ext(name)) })
	if err != nil {
		return nil, err
	}
	t := &Tree{Fset: token.NewFileSet()}
	files, errs := make([]*File, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for worker := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := worker; i < len(names); i += runtime.GOMAXPROCS(0) {
				files[i], errs[i] = readFile(t.Fset, root, names[i])
			}
		})
	}
	wg.Wait()
	for i, f := range files {
		switch {
		case errs[i] != nil:
			return nil, errs[i]
		case f.AST != nil:
			t.Go = append(t.Go, f)
		default:
			t.Pages = append(t.Pages, f)
		}
	}
	config, err := os.ReadFile(filepath.Join(root, ".golangci.yaml"))
	if err != nil {
		return nil, err
	}
	t.linters = enabled(config)
	return t, nil
}

func readFile(fset *token.FileSet, root, name string) (*File, error) {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil || path.Ext(name) != ".go" {
		return &File{Name: name, Text: text, fset: fset}, err
	}
	return parseFile(fset, name, text)
}

func parseFile(fset *token.FileSet, name string, text []byte) (*File, error) {
	parsed, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return &File{Name: name, Text: text, AST: parsed, fset: fset}, err
}

// FromFiles returns a tree with the given files: their texts by their paths below the root. The file .golangci.yaml
// lists the linters that run.
func FromFiles(files map[string]string) (*Tree, error) {
	t := &Tree{Fset: token.NewFileSet(), linters: enabled([]byte(files[".golangci.yaml"]))}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch path.Ext(name) {
		case ".go":
			f, err := parseFile(t.Fset, name, []byte(files[name]))
			if err != nil {
				return nil, err
			}
			t.Go = append(t.Go, f)
		case ".md":
			t.Pages = append(t.Pages, &File{Name: name, Text: []byte(files[name]), fset: t.Fset})
		}
	}
	return t, nil
}

// enabled returns the linters in the list "enable" of the section "linters", without a parser of YAML: the library
// requires none.
func enabled(config []byte) []string {
	var out []string
	section, listed := "", false
	for line := range strings.Lines(string(config)) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimRight(line, " \n")
		name, item := strings.CutPrefix(strings.TrimSpace(line), "- ")
		switch {
		case line == "":
		case line[0] != ' ':
			section, listed = line, false
		case strings.HasPrefix(line, "  ") && line[2] != ' ' && !item:
			listed = section == "linters:" && line == "  enable:"
		case listed && item:
			out = append(out, name)
		}
	}
	return out
}

// LineCount counts the lines of a text as wc does. Unlike wc, it also counts a last line without a line end.
func LineCount(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}
