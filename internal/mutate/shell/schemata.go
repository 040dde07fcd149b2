package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hooks are compiled into a subject: they choose the mutant, and record which tests reach which mutants.
//
//go:embed hooks.go.txt
var hooks string

// Names of the files that are added to a subject.
const (
	hooksFile = "mutant_hooks.go"
	outerFile = "mutant_hooks_outer_test.go"
)

// A combined is a source that contains all of its mutants.
type combined struct {
	text  string
	spans []span
}

// A span is the place of a mutant in a combined source.
type span struct {
	from, to int
	mutant   *mutant
}

func (c combined) mutantAt(offset int) *mutant {
	for _, s := range c.spans {
		if offset >= s.from && offset < s.to {
			return s.mutant
		}
	}
	return nil
}

// combine returns the sources of the package, each with all its mutants, and the hooks.
func (s *subject) combine() map[string]combined {
	all := map[string]combined{hooksFile: {text: strings.Replace(hooks, "package hooks", "package "+s.name, 1)}}
	for _, f := range s.files {
		var of []*mutant
		for _, m := range s.drawn {
			if m.file == f {
				of = append(of, m)
			}
		}
		all[f.name] = f.combine(of)
	}
	return all
}

// combine writes the file with a copy of a function's body per mutant in front of the body. A copy is a function of
// its own, so that the compiler checks its return by itself.
func (f *file) combine(mutants []*mutant) (c combined) {
	var out strings.Builder
	end := 0
	for len(mutants) > 0 {
		fn := mutants[0].fn
		n := slices.IndexFunc(mutants, func(m *mutant) bool { return m.fn != fn })
		if n < 0 {
			n = len(mutants)
		}
		from, to := f.offset(fn.Body.Lbrace)+1, f.offset(fn.Body.Rbrace)
		out.Write(f.text[end:from])
		out.WriteString("\nswitch mutantChosen {\n")
		for _, m := range mutants[:n] {
			begin := out.Len()
			fmt.Fprintf(&out, "case %d:\n%s", m.number, f.call(fn, m.changed(from, to)))
			c.spans = append(c.spans, span{begin, out.Len(), m})
		}
		out.WriteString("}\n" + f.reached(from, to, mutants[:n]))
		end, mutants = to, mutants[n:]
	}
	out.Write(f.text[end:])
	c.text = out.String()
	return c
}

// call returns the text that runs another body instead of the function's own.
func (f *file) call(fn *ast.FuncDecl, body string) string {
	if fn.Type.Results == nil {
		return "func() {" + body + "}()\nreturn\n"
	}
	return "return func() " + f.at(fn.Type.Results) + " {" + body + "}()\n"
}

// reached returns the unchanged text from one offset to another, with calls that record which mutants are reached.
func (f *file) reached(from, to int, mutants []*mutant) string {
	order := slices.Clone(mutants)
	slices.SortStableFunc(order, func(a, b *mutant) int { return a.reach - b.reach })
	var out strings.Builder
	for _, m := range order {
		out.Write(f.text[from:m.reach])
		fmt.Fprintf(&out, "mutantReached(%d); ", m.number)
		from = m.reach
	}
	out.Write(f.text[from:to])
	return out.String()
}

// hooked returns the test files of the subject, in which each test records its begin and its end, and the file that
// is added to them.
func (s *subject) hooked() (map[string]string, error) {
	all := map[string]string{}
	for _, name := range slices.Concat(s.tests, s.outer) {
		text, err := os.ReadFile(filepath.Join(s.abs, name))
		if err != nil {
			return nil, err
		}
		if all[name], err = hook(name, text); err != nil {
			return nil, err
		}
	}
	if len(s.outer) > 0 {
		all[outerFile] = fmt.Sprintf("package %s_test\n\nimport mutated %q\n\nvar mutantTest = mutated.MutantTest\n",
			s.name, s.path)
	}
	return all, nil
}

func hook(name string, text []byte) (string, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	call := "MutantTest"
	if strings.HasSuffix(parsed.Name.Name, "_test") {
		call = "mutantTest"
	}
	var out bytes.Buffer
	end := 0
	for _, decl := range parsed.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || fn.Body == nil || !isTest(fn.Name.Name) {
			continue
		}
		param := "nil"
		if list := fn.Type.Params.List; len(list) > 0 && len(list[0].Names) > 0 && list[0].Names[0].Name != "_" {
			param = list[0].Names[0].Name
		}
		from := fset.Position(fn.Body.Lbrace).Offset + 1
		out.Write(text[end:from])
		fmt.Fprintf(&out, " defer %s(%q, %s)(); ", call, fn.Name.Name, param)
		end = from
	}
	out.Write(text[end:])
	return out.String(), nil
}

// isTest reports whether go test runs a function of this name.
func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Example", "Fuzz"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && name != "TestMain" {
			first, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(first)
		}
	}
	return false
}
