//go:build !race

// Much is parsed, and nothing here runs concurrently.

package scaffold_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/cmd/moorage/internal/scaffold"
)

// A scope is what is declared in the files of one package.
type scope struct {
	declared []string // at the top level
	imported []string // by any file
}

// scopes parses the Go files of a project, and returns what is in each package, by its folder
// and name.
func scopes(t *testing.T, files []scaffold.File) map[string]*scope {
	t.Helper()

	out := map[string]*scope{}

	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".go") {
			continue
		}

		parsed, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}

		name := path.Dir(f.Path) + " " + parsed.Name.Name
		if out[name] == nil {
			out[name] = &scope{}
		}

		out[name].add(parsed)
	}

	return out
}

// add adds what is in a file.
func (s *scope) add(file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name != "init" {
				s.declared = append(s.declared, d.Name.Name)
			}
		case *ast.GenDecl:
			s.addSpecs(d.Specs)
		}
	}
}

func (s *scope) addSpecs(specs []ast.Spec) {
	for _, spec := range specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			s.declared = append(s.declared, spec.Name.Name)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				s.declared = append(s.declared, name.Name)
			}
		case *ast.ImportSpec:
			name := importName(spec)
			if slices.ContainsFunc(specs,
				func(other ast.Spec) bool { return other != ast.Spec(spec) && importName(other) == name }) {
				s.declared = append(s.declared, name)
			}

			s.imported = append(s.imported, name)
		}
	}
}

// importName returns what an import is called in its file, or nothing.
func importName(spec ast.Spec) string {
	switch spec, ok := spec.(*ast.ImportSpec); {
	case !ok:
		return ""
	case spec.Name != nil:
		return spec.Name.Name
	default:
		return path.Base(strings.Trim(spec.Path.Value, `"`))
	}
}

// clash returns a name that is in the way of another, or nothing.
func (s *scope) clash() string {
	slices.Sort(s.declared)

	for i, name := range s.declared {
		if i > 0 && s.declared[i-1] == name && name != "_" || slices.Contains(s.imported, name) {
			return name
		}
	}

	return ""
}

// TestKindsHaveNamesOfTheirOwn calls a kind like everything that is in a project already: it is
// refused, or nothing of it is in the way of anything else.
func TestKindsHaveNamesOfTheirOwn(t *testing.T) {
	for _, client := range []string{scaffold.HTTP, scaffold.Interface} {
		t.Run(client, func(t *testing.T) { haveNamesOfTheirOwn(t, client) })
	}
}

func haveNamesOfTheirOwn(t *testing.T, client string) {
	t.Helper()

	project := func(kind string) (scaffold.Project, error) {
		p := cloud()
		p.Client = client

		p, err := p.WithProviderConfig("v1alpha1")
		if err != nil {
			t.Fatal(err)
		}

		return p.WithKind(scaffold.Kind{Kind: kind, Version: "v1alpha1", Class: scaffold.Named, ConnectionDetails: true,
			Password: true})
	}

	usual, err := project("Bucket")
	if err != nil {
		t.Fatal(err)
	}

	files := plan(t, nil, usual)
	names := []string{"Main", "Init", "Vendor", "Testdata", "Internal", "Cluster", "Connection", "Group", "Version",
		"Credentials"}

	for _, f := range files {
		name, _, _ := strings.Cut(path.Base(f.Path), ".")
		names = append(names, strings.TrimSuffix(strings.TrimSuffix(name, "_test"), "_types"))
	}

	known := scopes(t, files)
	for _, s := range known {
		names = append(append(names, s.declared...), s.imported...)
	}

	// A kind has no name like a test.
	names = slices.DeleteFunc(names,
		func(name string) bool { return strings.HasPrefix(name, "Test") && name != "Testdata" })

	for i, name := range names {
		if name != "" {
			names[i] = strings.ToUpper(name[:1]) + name[1:]
		}
	}

	slices.Sort(names)

	tried := 0

	for _, name := range slices.Compact(names) {
		p, err := project(name)
		if err != nil {
			continue // it is refused
		}

		tried++

		all := plan(t, nil, p)
		if len(all) != len(files) {
			t.Errorf("a kind %s has a file of somebody else: there are %d, and for others %d", name, len(all), len(files))
		}

		for folder, s := range scopes(t, all) {
			if clash := s.clash(); clash != "" {
				t.Errorf("of a kind %s, %s is in the way of another in %s", name, clash, folder)
			}

			if strings.Contains(folder, "/vendor ") || strings.Contains(folder, "/testdata ") {
				t.Errorf("of a kind %s, the folder %s is none of packages for the go command", name, folder)
			}

			if strings.HasSuffix(folder, " init") || strings.HasSuffix(folder, " main") && known[folder] == nil {
				t.Errorf("of a kind %s, nobody can import the package %s", name, folder)
			}
		}
	}

	if tried < 50 {
		t.Errorf("only %d names were tried", tried)
	}
}

// TestArticle reads the article in the generated comments, which goes with the sound of the kind.
func TestArticle(t *testing.T) {
	cases := map[string]string{
		"User": "a User", "UnitTest": "a UnitTest", "Usage": "a Usage", "UIDRange": "a UIDRange", "OneShot": "a OneShot",
		"Umbrella": "an Umbrella", "Uninstaller": "an Uninstaller", "Upstream": "an Upstream", "Index": "an Index",
		"Hour": "an Hour", "Host": "a Host", "SSHKey": "an SSHKey", "Share": "a Share", "LDAPGroup": "an LDAPGroup",
		"DNSZone": "a DNSZone", "ACL": "an ACL", "Bucket": "a Bucket", "EUZone": "a EUZone",
	}

	for kind, want := range cases {
		files := plan(t, nil, with(t, cloud(), scaffold.Kind{Kind: kind, Version: "v1alpha1", Class: scaffold.Named}))
		for _, f := range files {
			if f.Path == "apis/v1alpha1/"+strings.ToLower(kind)+"_types.go" &&
				!strings.Contains(string(f.Content), "are the desired state of "+want+".") {
				t.Errorf("the comments of the kind %s do not say %q", kind, want)
			}
		}
	}
}

// TestFakeNames wants the prefix fake for the names of the package that only the fake has: an author's client is in the
// same package, and may well have a function read.
func TestFakeNames(t *testing.T) {
	for _, client := range []string{scaffold.HTTP, scaffold.Interface} {
		p := cloud()
		p.Client = client

		file, err := parser.ParseFile(token.NewFileSet(), "", content(t, p, "internal/api/fake.go"), 0)
		if err != nil {
			t.Fatal(err)
		}

		var names []string

		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names = append(names, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						names = append(names, s.Name.Name)
					case *ast.ValueSpec:
						names = append(names, s.Names[0].Name)
					}
				}
			}
		}

		for _, name := range names {
			if !token.IsExported(name) && !strings.HasPrefix(name, "fake") {
				t.Errorf("%s: the fake has the name %s", client, name)
			}
		}

		if len(names) < 5 {
			t.Errorf("%s: only %q were found", client, names)
		}
	}
}
