package sim_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/moorage-dev/moorage/"

// What the runtime reads and writes objects with, and what of it judges may name besides types, which say nothing by
// themselves. Packages below pkg/reconciler/managed/internal cannot be imported here.
var readers = map[string]func(types.Object) bool{
	module + "pkg/meta":               func(types.Object) bool { return false },
	module + "pkg/resource":           func(types.Object) bool { return false },
	module + "apis/common/v1":         func(types.Object) bool { return false },
	module + "internal/sim/bucket":    notOfConditions,
	module + "pkg/reconciler/managed": noWord,
}

// notOfConditions: a bucket is an object like others, but for the methods with which the runtime reads and writes its
// status.
func notOfConditions(o types.Object) bool {
	f, ok := o.(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return true
	}

	return f.Name() == "DeepCopyObject"
}

// noWord: the reconciler is what is run, and its options are how. Its constants that are texts are words on objects.
func noWord(o types.Object) bool {
	c, is := o.(*types.Const)

	return !is || c.Val().Kind() != constant.String
}

// players has the types, and single methods, that act as a provider or another controller does, and use the library
// like it.
var players = map[string]string{
	"extClient":               "the client of the external system",
	"recoveringClient":        "the same, of the class Findable",
	"extSystem.observe":       "the observation of that client",
	"extSystem.observeListed": "the same of a listed resource",
	"locked":                  "a client that reads its credentials",
	"users.Touch":             "another controller, which writes a condition of its own",
}

// TestJudgesReadByThePages checks that no file of the simulator reads an object with the functions of the runtime,
// except in methods that play a provider. All other files may judge.
func TestJudgesReadByThePages(t *testing.T) {
	fset, files, info := typed(t)
	played := map[string]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			if player := playerOf(d); player != "" {
				played[player] = true

				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				if o := info.Uses[id]; reads(o) {
					t.Errorf("%s: %s is how the runtime reads an object: read it by reading.go, as the pages say",
						fset.Position(id.Pos()), o)
				}

				return true
			})
		}
	}
	for player := range players {
		if !played[player] {
			t.Errorf("there is no method %s any more that plays a provider", player)
		}
	}
}

// TestReadIsWritten checks that each word that the judges read is in one of the pages.
func TestReadIsWritten(t *testing.T) {
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no pages: %v", err)
	}
	var pages strings.Builder
	for _, path := range paths {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(page)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "reading.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	words := 0
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok == token.IMPORT {
			continue
		}
		ast.Inspect(g, func(n ast.Node) bool {
			l, ok := n.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return true
			}
			words++
			if word, _ := strconv.Unquote(l.Value); !strings.Contains(pages.String(), "`"+word+"`") {
				t.Errorf("%s stands in none of the pages", word)
			}

			return true
		})
	}
	if words < 30 {
		t.Errorf("%d words were read", words)
	}
}

// typed returns the syntax and the types of this package, without its tests.
func typed(t *testing.T) (*token.FileSet, []*ast.File, *types.Info) {
	t.Helper()
	const pkg = module + "internal/sim"
	fset, files := parsed(t, ".")
	files, info := check(t, pkg, fset, files, compiled(t, pkg))

	return fset, files, info
}

// reads returns whether something is what the runtime reads or writes objects with.
func reads(o types.Object) bool {
	if o == nil || o.Pkg() == nil {
		return false
	}
	may, reader := readers[o.Pkg().Path()]
	switch o := o.(type) {
	case *types.TypeName, *types.PkgName:
		return false
	case *types.Var:
		return reader && !o.IsField() && !may(o)
	default:
		return reader && !may(o)
	}
}

// playerOf returns the name under which a method plays a provider, or nothing.
func playerOf(d ast.Decl) string {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, pointer := of.(*ast.StarExpr); pointer {
		of = star.X
	}
	id, ok := of.(*ast.Ident)
	if !ok {
		return ""
	}
	for _, player := range []string{id.Name, id.Name + "." + f.Name.Name} {
		if _, plays := players[player]; plays {
			return player
		}
	}

	return ""
}
