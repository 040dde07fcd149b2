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

// What has type parameters cannot be told as the other documents are: here a line of a golden file is what the
// compiler makes of a name, and a method's and a field's stand after its type.
var generic = map[string]struct {
	path  string
	lines int // of the golden file: one that got lost, or came, would go unnoticed otherwise
}{
	"controllerruntime": {module + "pkg/storecontroller/controllerruntime", 24},
	"serviceprovider":   {module + "pkg/serviceprovider", 42},
	"cluster":           {module + "pkg/clusters/clientmanager", 13},
}

// TestGenericSurfaces holds packages to the documents that they are compatible with.
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
				for _, line := range (teller{pkg}).lines(pkg.Scope().Lookup(name)) {
					// Names and methods that this library adds break nobody.
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

// said returns the lines of a golden file that say something.
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

// subject returns what a line is about: a name, or a type's method.
func subject(line string) string {
	return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" [(", r) })[1]
}

// A teller tells what is in a package.
type teller struct{ pkg *types.Package }

func (s teller) short(p *types.Package) string {
	if p == s.pkg {
		return ""
	}
	return p.Name()
}

// lines tells what a name is, what fields and what methods it has.
func (s teller) lines(obj types.Object) []string {
	switch obj := obj.(type) {
	case *types.Const:
		return []string{types.ObjectString(obj, s.short) + " = " + obj.Val().ExactString()}
	case *types.TypeName:
		named, ok := types.Unalias(obj.Type()).(*types.Named)
		if !ok {
			return []string{types.ObjectString(obj, s.short)}
		}
		return append(s.ofType(obj, named), s.methods(named)...)
	default:
		return []string{types.ObjectString(obj, s.short)}
	}
}

// ofType tells a struct's exported fields apart from it, and nothing of the others.
func (s teller) ofType(obj *types.TypeName, named *types.Named) []string {
	text := types.ObjectString(obj, s.short)
	fields, ok := named.Underlying().(*types.Struct)
	if !ok || obj.IsAlias() {
		return []string{text}
	}
	out := []string{text[:strings.Index(text, " struct{")] + " struct"}
	for f := range fields.Fields() {
		if f.Exported() {
			out = append(out, "field "+obj.Name()+"."+f.Name()+" "+types.TypeString(f.Type(), s.short))
		}
	}
	return out
}

func (s teller) methods(named *types.Named) (out []string) {
	if _, ok := named.Underlying().(*types.Struct); !ok {
		return nil
	}
	for m := range named.Methods() {
		if m.Exported() {
			sig := types.TypeString(m.Signature(), s.short)
			out = append(out, "method "+named.Obj().Name()+"."+m.Name()+strings.TrimPrefix(sig, "func"))
		}
	}
	return out
}
