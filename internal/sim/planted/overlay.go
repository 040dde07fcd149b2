package planted

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Env is the environment variable that chooses the defect in a program that was compiled with an Overlay. If it is
// empty, the program has no defect.
const Env = "MOORAGE_PLANTED"

// Overlay writes source files with all defects into a folder. It returns a file for the option -overlay of go build. A
// function with defects is copied once per defect, under a new name. The original name gets a function that calls the
// chosen copy. One build thus serves all defects.
func Overlay(all []Defect, folder string) (string, error) {
	replace, packages := map[string]string{}, map[string]string{}
	var failed []error
	for i, file := range files(all) {
		changed, name, err := rewrite(file, all)
		if err != nil {
			failed = append(failed, err)

			continue
		}
		path, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		replace[path] = filepath.Join(folder, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(replace[path], changed, 0o600); err != nil {
			return "", err
		}
		packages[filepath.Dir(path)] = name
	}
	if err := utilerrors.NewAggregate(failed); err != nil {
		return "", err
	}
	for dir, name := range packages {
		chooser := filepath.Join(folder, fmt.Sprintf("chosen%d.go", len(replace)))
		text := fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar plantedDefect = os.Getenv(%q)\n", name, Env)
		if err := os.WriteFile(chooser, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(dir, "planted_defect.go")] = chooser
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")

	return overlay, os.WriteFile(overlay, data, 0o600)
}

func files(all []Defect) []string {
	var files []string
	for _, d := range all {
		for _, e := range d.Edits {
			files = append(files, e.File)
		}
	}
	slices.Sort(files)

	return slices.Compact(files)
}

// rewrite returns a file with all its defects, and the name of its package.
func rewrite(file string, all []Defect) ([]byte, string, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", err
	}
	s := &sourceFile{text: string(source), set: set, variants: map[*ast.FuncDecl][]variant{}}
	var failed []error
	for _, d := range all {
		for _, e := range d.Edits {
			if e.File != file {
				continue
			}
			if err := s.plant(tree, d.Name, e); err != nil {
				failed = append(failed, errors.Wrapf(err, "cannot plant %s", d.Name))
			}
		}
	}

	return []byte(s.write(tree)), tree.Name.Name, utilerrors.NewAggregate(failed)
}

type sourceFile struct {
	text     string
	set      *token.FileSet
	variants map[*ast.FuncDecl][]variant
}

// A variant of a function is its text with a defect.
type variant struct{ defect, text string }

func (s *sourceFile) at(p token.Pos) int { return s.set.Position(p).Offset }

func (s *sourceFile) between(n ast.Node) string { return s.text[s.at(n.Pos()):s.at(n.End())] }

// plant adds a defect to the function that it is in.
func (s *sourceFile) plant(tree *ast.File, defect string, e Edit) error {
	if n := strings.Count(s.text, e.Old); n != 1 {
		return errors.Errorf("what it changes stands %d times in %s:\n%s", n, e.File, e.Old)
	}
	begins := strings.Index(s.text, e.Old)
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || s.at(f.Type.Pos()) > begins || s.at(f.End()) < begins+len(e.Old) {
			continue
		}
		text := s.text[s.at(f.Type.Pos()):s.at(f.End())]
		of := s.variants[f]
		if i := slices.IndexFunc(of, func(v variant) bool { return v.defect == defect }); i >= 0 {
			of[i].text = strings.Replace(of[i].text, e.Old, e.New, 1)
		} else {
			s.variants[f] = append(of, variant{defect, strings.Replace(text, e.Old, e.New, 1)})
		}

		return nil
	}

	return errors.Errorf("what it changes is not within a function of %s:\n%s", e.File, e.Old)
}

// write returns the file with a choice in place of each function that has variants.
func (s *sourceFile) write(tree *ast.File) string {
	var out strings.Builder
	done := 0
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || len(s.variants[f]) == 0 {
			continue
		}
		from, to := s.at(f.Type.Pos()), s.at(f.End())
		out.WriteString(s.text[done:from])
		out.WriteString(s.choice(f))
		for _, v := range append(s.variants[f], variant{"none", s.text[from:to]}) {
			head, rest, _ := strings.Cut(v.text, f.Name.Name+"(")
			out.WriteString("\n\n" + head + named(f, v.defect) + "(" + rest)
		}
		done = to
	}
	out.WriteString(s.text[done:])

	return out.String()
}

func named(f *ast.FuncDecl, defect string) string {
	return f.Name.Name + "_" + strings.ReplaceAll(defect, "-", "_")
}

// choice returns the source of a function that calls the chosen variant of itself.
func (s *sourceFile) choice(f *ast.FuncDecl) string {
	var out strings.Builder
	call := ""
	out.WriteString("func ")
	if f.Recv != nil {
		fmt.Fprintf(&out, "(it %s) ", s.between(f.Recv.List[0].Type))
		call = "it."
	}
	var params, args []string
	for _, field := range f.Type.Params.List {
		for range max(len(field.Names), 1) {
			name := fmt.Sprintf("a%d", len(params))
			params = append(params, name+" "+s.between(field.Type))
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				name += "..."
			}
			args = append(args, name)
		}
	}
	results, answer := "", ""
	if f.Type.Results != nil {
		results, answer = " "+s.between(f.Type.Results), "return "
	}
	fmt.Fprintf(&out, "%s(%s)%s {\n\tswitch plantedDefect {\n", f.Name.Name, strings.Join(params, ", "), results)
	for _, v := range s.variants[f] {
		fmt.Fprintf(&out, "\tcase %q:\n\t\t%s%s%s(%s)\n", v.defect, answer, call, named(f, v.defect),
			strings.Join(args, ", "))
	}
	fmt.Fprintf(&out, "\tdefault:\n\t\t%s%s%s(%s)\n\t}\n}", answer, call, named(f, "none"), strings.Join(args, ", "))

	return out.String()
}
