package apisurface

import (
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const seedRuntime = module + "pkg/storecontroller/controllerruntime"

// The methods that this library adds to the type.
var addedToControllerRuntime = []string{"Owner", "Panics", "Reference", "SetLogger", "SetOwner", "SetTerciaryMapping"}

// TestControllerRuntimeSurface holds that package to the document it is compatible with. What has type parameters cannot be told as the other documents are: here a
// line is what the compiler makes of a name, and a method's stands after its type.
func TestControllerRuntimeSurface(t *testing.T) {
	text, err := os.ReadFile("testdata/controllerruntime.golden")
	if err != nil {
		t.Fatal(err)
	}
	lib, err := load("../..", seedRuntime)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := lib.Import(seedRuntime)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			want = append(want, line)
		}
	}
	if len(want) != 24 {
		t.Errorf("the golden file has %d lines, want 24: one got lost, or came", len(want))
	}
	names := map[string]bool{}
	for _, line := range want {
		names[strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" .[(", r) })[1]] = true
	}
	for _, name := range pkg.Scope().Names() {
		if names[name] {
			got = append(got, lines(pkg.Scope().Lookup(name))...)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-document, +package:\n%s", diff)
	}
}

// lines tells what a name is, and what methods it has.
func lines(obj types.Object) []string {
	short := func(p *types.Package) string {
		if p.Path() == seedRuntime {
			return ""
		}
		return p.Name()
	}
	switch obj := obj.(type) {
	case *types.Const:
		return []string{types.ObjectString(obj, short) + " = " + obj.Val().ExactString()}
	case *types.TypeName:
		named, ok := obj.Type().(*types.Named)
		if !ok {
			return []string{types.ObjectString(obj, short)}
		}
		return append(ofType(obj, named, short), methods(named, short)...)
	default:
		return []string{types.ObjectString(obj, short)}
	}
}

// ofType leaves out what is inside a struct.
func ofType(obj *types.TypeName, named *types.Named, short types.Qualifier) []string {
	text := types.ObjectString(obj, short)
	if _, ok := named.Underlying().(*types.Struct); ok {
		text = text[:strings.Index(text, " struct{")] + " struct"
	}
	return []string{text}
}

func methods(named *types.Named, short types.Qualifier) (out []string) {
	if named.TypeParams() == nil {
		return nil
	}
	for m := range named.Methods() {
		if m.Exported() && !slices.Contains(addedToControllerRuntime, m.Name()) {
			sig := types.TypeString(m.Signature(), short)
			out = append(out, "method "+named.Obj().Name()+"."+m.Name()+strings.TrimPrefix(sig, "func"))
		}
	}
	return out
}
