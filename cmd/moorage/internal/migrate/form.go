package migrate

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"
)

// byteOrderMark is what some editors put before a text.
const byteOrderMark = "\ufeff"

// plain returns a text without a byte order mark and with the line endings that Go writes,
// and a function that gives a text the form it had.
func plain(text string) (bare string, form func(string) string) {
	bare, marked := strings.CutPrefix(text, byteOrderMark)
	windows := strings.Contains(bare, "\r\n")

	return strings.ReplaceAll(bare, "\r\n", "\n"), func(text string) string {
		if windows {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}

		if marked {
			text = byteOrderMark + text
		}

		return text
	}
}

// formatted returns a Go file with a line for each declaration, so that one can be removed.
func formatted(text string) (string, error) {
	out, err := format.Source([]byte(text))

	return string(out), err
}

// advice returns what to do where a text names the runtime.
func (r rules) advice() string {
	return "names " + r.module + ": say here what it means for Moorage, or remove it"
}

// named returns the lines of a Go file where a text or a directive names the runtime.
func (r rules) named(text string) (lines []int) {
	if !strings.Contains(text, r.module) {
		return nil
	}

	fset := token.NewFileSet()

	file, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		return nil // the compiler reports it
	}

	advice := func(at token.Pos, text string) {
		first := fset.Position(at).Line

		for i, line := range strings.Split(text, "\n") {
			if strings.Contains(line, r.module) {
				lines = append(lines, first+i)
			}
		}
	}

	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:") {
				advice(c.Pos(), c.Text)
			}
		}
	}

	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			advice(n.Pos(), n.Value)
		}

		return true
	})

	return lines
}
