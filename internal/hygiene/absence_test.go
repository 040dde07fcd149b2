package hygiene

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Functions that take every answer with the code 404 for the absence of an object, or an unserved kind for one that
// does not exist.
var credulous = map[string][]string{
	"k8s.io/apimachinery/pkg/api/errors":        {"IsNotFound"},
	"k8s.io/apimachinery/pkg/api/meta":          {"IsNoMatchError"},
	"k8s.io/apimachinery/pkg/apis/meta/v1":      {"StatusReasonNotFound"},
	"sigs.k8s.io/controller-runtime/pkg/client": {"IgnoreNotFound"},
}

// Files and folders that may use them, with the reason.
var maybeCredulous = map[string]string{
	"internal/gone/":          "it is what the others ask",
	"internal/testworld/":     "tests ask the API server that they have started",
	"internal/volume/stories": "tests ask the API server in memory that they have made, and judge what it has",

	"pkg/reconciler/managed/get": "a cache says that it has no such object, and fakes of authors do not name it",
	"pkg/sim/apiserver/":         "it is the API server that answers",
	"internal/sim/":              "it asks the API server of the simulation, and its judges know what exists",
}

// TestAbsenceIsAskedOfOnePackage checks that only internal/gone finds out whether an object is gone, and in
// examples, which use only public packages, pkg/resource.
func TestAbsenceIsAskedOfOnePackage(t *testing.T) {
	used := map[string]bool{}
	for _, f := range goFiles(t, "pkg", "internal", "cmd", "examples") {
		if f.test() || f.generated() {
			continue
		}
		lines := believes(f)
		if len(lines) == 0 {
			continue
		}
		if where := exception(f.name); where != "" {
			used[where] = true
			continue
		}
		for _, line := range lines {
			t.Errorf("%s: it is true of every 404, also of a proxy's: ask internal/gone, or pkg/resource in an example", line)
		}
	}
	for _, where := range slices.Sorted(maps.Keys(maybeCredulous)) {
		if !used[where] {
			t.Errorf("maybeCredulous: nothing in %q needs its exception any more (%s): remove it", where,
				maybeCredulous[where])
		}
	}
}

// exception returns the file or folder of the list above that covers a file, if there is one.
func exception(name string) string {
	for where := range maybeCredulous {
		if strings.HasPrefix(name, where) {
			return where
		}
	}
	return ""
}

// believes returns a line for each use of these functions.
func believes(f goFile) (out []string) {
	packages := map[string][]string{} // by their names in the file
	for _, i := range f.ast.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		if forbidden := credulous[path]; len(forbidden) > 0 && name == "." {
			out = append(out, fmt.Sprintf("%s:%d: import of %s with a dot", f.name, f.line(i.Pos()), path))
		} else if len(forbidden) > 0 {
			packages[name] = forbidden
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && slices.Contains(packages[x.Name], s.Sel.Name) {
			out = append(out, fmt.Sprintf("%s:%d: %s.%s", f.name, f.line(s.Pos()), x.Name, s.Sel.Name))
		}
		return true
	})
	return out
}

func TestBelieves(t *testing.T) {
	const text = `package x

import (
	"errors"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	. "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/external"
)

var (
	_ = kerrors.IsNotFound(nil)
	_ = []func(error) bool{kerrors.IsNotFound, kerrors.IsConflict, meta.IsNoMatchError}
	_ = client.IgnoreNotFound(client.IgnoreAlreadyExists(nil))
	_ = external.IsNotFound(errors.New(""))
)
`
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, "x.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"x.go:7: import of k8s.io/apimachinery/pkg/apis/meta/v1 with a dot",
		"x.go:14: kerrors.IsNotFound",
		"x.go:15: kerrors.IsNotFound",
		"x.go:15: meta.IsNoMatchError",
		"x.go:16: client.IgnoreNotFound",
	}
	if diff := cmp.Diff(want, believes(goFile{"x.go", []byte(text), fset, parsed})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
