package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A source has the Go files of one package, without tests.
type source struct {
	dir   string // below the root
	files []*ast.File
}

// name returns the name of the package, or "".
func (s source) name() string {
	if len(s.files) == 0 {
		return ""
	}
	return s.files[0].Name.Name
}

// readSource parses a folder below the root.
func readSource(root, dir string) (source, error) {
	paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		return source{}, err
	}
	s := source{dir: dir}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return source{}, err
		}
		s.files = append(s.files, file)
	}
	return s, nil
}

// readSources parses every package in these folders and below.
func readSources(root string, dirs ...string) ([]source, error) {
	var out []source
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if d.Name() == "testdata" {
				return fs.SkipDir
			}
			below, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			s, err := readSource(root, filepath.ToSlash(below))
			if err == nil && len(s.files) > 0 {
				out = append(out, s)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A constant is a constant whose value is a string literal.
type constant struct {
	name  string
	typ   string // as it is written: ConditionReason, event.Reason
	value string
	about string // its comment and that of its group
}

// constants returns the constants of a package that have one of the given types.
func (s source) constants(types ...string) []constant {
	var out []constant
	for _, file := range s.files {
		for _, decl := range file.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.CONST {
				continue
			}
			for _, spec := range d.Specs {
				v := spec.(*ast.ValueSpec) // in a declaration of constants
				typ := typeName(v.Type)
				if !slices.Contains(types, typ) {
					continue
				}
				for i, name := range v.Names[:min(len(v.Names), len(v.Values))] {
					if value, ok := text(v.Values[i]); ok {
						about := flat(d.Doc) + " " + flat(v.Doc) + " " + flat(v.Comment)
						out = append(out, constant{name: name.Name, typ: typ, value: value, about: about})
					}
				}
			}
		}
	}
	return out
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	default:
		return ""
	}
}

func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(lit.Value)
	return value, err == nil
}

// calls visits every call of a function or method, with its name without package or receiver.
func (s source) calls(visit func(name string, args []ast.Expr)) {
	for _, file := range s.files {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				full := typeName(call.Fun)
				visit(full[strings.LastIndex(full, ".")+1:], call.Args)
			}
			return true
		})
	}
}

// exported returns whether the package declares a name: "Name", or "Type.Member" for a method, a field or a method
// of an interface.
func (s source) exported(name string) bool {
	owner, member, nested := strings.Cut(name, ".")
	for _, file := range s.files {
		for _, decl := range file.Decls {
			if declares(decl, owner, member, nested) {
				return true
			}
		}
	}
	return false
}

func declares(decl ast.Decl, owner, member string, nested bool) bool {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if nested {
			return d.Recv != nil && d.Name.Name == member && receiver(d) == owner
		}
		return d.Recv == nil && d.Name.Name == owner
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if specDeclares(spec, owner, member, nested) {
				return true
			}
		}
	}
	return false
}

func specDeclares(spec ast.Spec, owner, member string, nested bool) bool {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return s.Name.Name == owner && (!nested || hasMember(s.Type, member))
	case *ast.ValueSpec:
		return !nested && slices.ContainsFunc(s.Names, func(n *ast.Ident) bool { return n.Name == owner })
	default:
		return false
	}
}

func hasMember(e ast.Expr, member string) bool {
	var list *ast.FieldList
	switch t := e.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return false
	}
	return slices.ContainsFunc(list.List, func(f *ast.Field) bool {
		return slices.ContainsFunc(f.Names, func(n *ast.Ident) bool { return n.Name == member })
	})
}

func receiver(fn *ast.FuncDecl) string {
	name := ""
	ast.Inspect(fn.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}
