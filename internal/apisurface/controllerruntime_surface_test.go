package apisurface

import (
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Packages with type parameters have golden files of another form: a line is the compiler's text of an object, and
// the lines of fields and methods follow that of their type.
var generic = map[string]struct {
	path  string
	lines int // of the golden file: the number makes a lost or an added line noticed
}{
	"controllerruntime": {module + "pkg/storecontroller/controllerruntime", 24},
	"serviceprovider":   {module + "pkg/serviceprovider", 42},
	"cluster":           {module + "pkg/clusters/clientmanager", 13},
}

// TestGenericSurfaces compares packages with the documents that they are compatible with.
func TestGenericSurfaces(t *testing.T) {
	for doc, d := range generic {
		t.Run(doc, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + doc + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			lib, err := everything()
			if err != nil {
				t.Fatal(err)
			}
			pkg, err := lib.Import(d.path)
			if err != nil {
				t.Fatal(err)
			}
			want := said(string(text))
			if len(want) != d.lines {
				t.Errorf("the golden file has %d lines, want %d: one got lost, or came", len(want), d.lines)
			}
			known := map[string]bool{}
			for _, line := range want {
				known[subject(line)] = true
			}
			var got []string
			for _, name := range pkg.Scope().Names() {
				for _, line := range (printer{pkg}).lines(pkg.Scope().Lookup(name)) {
					// Names and methods that this library adds break no caller.
					if known[subject(line)] {
						got = append(got, line)
					}
				}
			}
			var listed []string
			if _, err := os.Stat("testdata/" + doc + ".deviations"); err == nil {
				listed = deviations(t, doc)
			}
			found := append(without("- ", want, got), without("+ ", got, want)...)
			slices.Sort(listed)
			slices.Sort(found)
			if diff := cmp.Diff(listed, found, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("what differs: -listed in testdata/%s.deviations, +found:\n%s", doc, diff)
			}
		})
	}
}

// said returns the lines of a golden file, without comments and empty lines.
func said(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, line)
		}
	}
	return out
}

// without returns the lines of a that are not in b, with a sign before them.
func without(sign string, a, b []string) (out []string) {
	for _, line := range a {
		if !slices.Contains(b, line) {
			out = append(out, sign+line)
		}
	}
	return out
}

// subject returns the name in a line: that of an object, or of a type and its method or field.
func subject(line string) string {
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" [(", r) })[1]
}

// A printer prints the objects of a package.
type printer struct{ pkg *types.Package }

func (pr printer) short(p *types.Package) string {
	if p == pr.pkg {
		return ""
	}
	return p.Name()
}

// lines returns the line of an object, and those of its fields and methods.
func (pr printer) lines(obj types.Object) []string {
	switch obj := obj.(type) {
	case *types.Const:
		return []string{types.ObjectString(obj, pr.short) + " = " + obj.Val().ExactString()}
	case *types.TypeName:
		named, ok := types.Unalias(obj.Type()).(*types.Named)
		if !ok {
			return []string{types.ObjectString(obj, pr.short)}
		}
		return append(pr.ofType(obj, named), pr.methods(named)...)
	default:
		return []string{types.ObjectString(obj, pr.short)}
	}
}

// ofType returns the line of a type, and a line for each exported field of a struct.
func (pr printer) ofType(obj *types.TypeName, named *types.Named) []string {
	text := types.ObjectString(obj, pr.short)
	fields, ok := named.Underlying().(*types.Struct)
	if !ok || obj.IsAlias() {
		return []string{text}
	}
	out := []string{text[:strings.Index(text, " struct{")] + " struct"}
	for f := range fields.Fields() {
		if f.Exported() {
			out = append(out, "field "+obj.Name()+"."+f.Name()+" "+types.TypeString(f.Type(), pr.short))
		}
	}
	return out
}

func (pr printer) methods(named *types.Named) (out []string) {
	if _, ok := named.Underlying().(*types.Struct); !ok {
		return nil
	}
	for m := range named.Methods() {
		if m.Exported() {
			sig := types.TypeString(m.Signature(), pr.short)
			out = append(out, "method "+named.Obj().Name()+"."+m.Name()+strings.TrimPrefix(sig, "func"))
		}
	}
	return out
}
