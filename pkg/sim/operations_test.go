package sim_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moorage-dev/moorage/pkg/sim"
)

const (
	runtimePackage = "github.com/moorage-dev/moorage/pkg/reconciler/managed"
	clientPackage  = "sigs.k8s.io/controller-runtime/pkg/client"
)

// What runs in a pass: the runtime, and what it or an author asks with its clients.
var simulated = map[string]string{
	runtimePackage: "../reconciler/managed",
	"github.com/moorage-dev/moorage/pkg/reference":   "../reference",
	"github.com/moorage-dev/moorage/pkg/credentials": "../credentials",
}

// Checked returns the syntax and the types of a package that is simulated.
func checked(t *testing.T, pkg string, exports map[string]string) ([]*ast.File, *types.Info) {
	t.Helper()
	fset := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(simulated[pkg], "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no source of %s: %v", pkg, err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	if _, err := config.Check(pkg, fset, files, info); err != nil {
		t.Fatal(err)
	}

	return files, info
}

// Compiled returns where the compiled packages are that the simulated ones need.
func compiled(t *testing.T) map[string]string {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, slices.Sorted(maps.Keys(simulated))...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // under the race detector, too: nothing is compiled another time
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}

	return exports
}

// Asked returns what is asked of the API server and of external systems: all calls
// of methods of the interfaces of clients that take a context.
func asked(t *testing.T) map[string]bool {
	t.Helper()
	exports := compiled(t)
	found := map[string]bool{}
	for pkg := range simulated {
		files, info := checked(t, pkg, exports)
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool {
				if name := operationOf(n, info); name != "" {
					found[name] = true
				}

				return true
			})
		}
	}

	return found
}

// OperationOf returns the name that the simulator has for a call, or for a method
// that may be called later, or nothing.
func operationOf(n ast.Node, info *types.Info) string {
	var args []ast.Expr
	call, calls := n.(*ast.CallExpr)
	if calls {
		n, args = call.Fun, call.Args
	}
	at, ok := n.(*ast.SelectorExpr)
	if !ok || info.Selections[at] == nil {
		return ""
	}
	method, ok := info.Selections[at].Obj().(*types.Func)
	if !ok {
		return ""
	}
	s := method.Signature()
	if s.Params().Len() == 0 || s.Params().At(0).Type().String() != "context.Context" || !types.IsInterface(s.Recv().Type()) {
		return ""
	}
	of := ""
	if named, ok := s.Recv().Type().(*types.Named); ok {
		of = named.Obj().Name()
	}
	switch pkg := method.Pkg().Path(); {
	case pkg == clientPackage && calls:
		return request(of, method.Name(), types.ExprString(at.X), kindOf(args, info))
	case pkg != runtimePackage:
		return ""
	default:
		name, known := outside[of+"."+method.Name()]
		if !known {
			return "what nobody has named: " + of + "." + method.Name()
		}

		return name
	}
}

// Outside are the names of what interfaces of the runtime ask. No name have those whose
// requests are found where they are made, in the runtime or by who implements them, and
// those that ask nobody.
var outside = map[string]string{
	"TypedExternalClient.Observe": "Observe", "TypedExternalClient.Create": "Create", "TypedExternalClient.Update": "Update", "TypedExternalClient.Delete": "Delete",
	"TypedExternalClient.Disconnect": "Disconnect", "ExternalDisconnecter.Disconnect": "Disconnect", "TypedExternalConnector.Connect": "Connect",
	"TypedCreationRecoverer.RecoverCreation": "Recover", "TypedExternalLister.ListPage": "List", "TypedExternalLister.ObserveListed": "",
	"ConnectionPublisher.PublishConnection": "", "CriticalAnnotationUpdater.UpdateCriticalAnnotations": "", "Initializer.Initialize": "",
	"ReferenceResolver.ResolveReferences": "", "Referencer.ResolveReferences": "", "ExternalEventSource.Subscribe": "Subscribe",
}

// Request names a request to the API server. Only objects of the kind come from a
// cache.
func request(of, method, client, kind string) string {
	verb := strings.ToLower(method)
	if strings.HasPrefix(of, "SubResource") {
		verb += "/status"
	}
	if verb == "get" && (strings.Contains(client, "GetAPIReader") || kind != "") {
		verb = "live"
	}

	return verb + kind
}

// KindOf returns the kind of object that a call is about, as operations have it, or
// nothing for the managed kind. Objects of which only metadata are read may be of
// any kind.
func kindOf(args []ast.Expr, info *types.Info) string {
	for _, arg := range args {
		switch of := info.Types[arg].Type.String(); {
		case strings.HasSuffix(of, "core/v1.Secret"):
			return ":Secret"
		case strings.HasSuffix(of, "meta/v1.PartialObjectMetadata"):
			return ":Namespace"
		}
	}

	return ""
}

// TestEveryOperationIsCrossed: there is a run in which the process dies before, and
// one in which it dies after, each operation that the runtime asks of anybody. What
// a new line of the runtime asks has to be in a scenario.
func TestEveryOperationIsCrossed(t *testing.T) {
	wanted := asked(t)
	if len(wanted) < 10 {
		t.Fatalf("the runtime asks for %v only: these are not found as they should be", slices.Sorted(maps.Keys(wanted)))
	}
	crossed := crashed(t)
	for name := range crossed {
		wanted[name] = true // what nobody has found in the source
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		for side, kind := range []sim.Kind{sim.Crash, sim.CrashAfter} {
			if !crossed[name][side] {
				t.Errorf("no process has died at %s: %s. A scenario has to have this operation.", name, kind)
			}
		}
	}
}

// SchedulesOf returns the schedules without faults of all scenarios.
func schedulesOf(portions []portion) iter.Seq[sim.Schedule] {
	return func(yield func(sim.Schedule) bool) {
		for _, p := range portions {
			for _, scenario := range p.Scenarios {
				if !yield(sim.Schedule{Scenario: scenario, Class: p.Class}) {
					return
				}
			}
		}
	}
}

// Crashed kills the process at the first of each operation of every scenario, and
// returns where it died: before and after.
func crashed(t *testing.T) map[string][2]bool {
	t.Helper()
	out := map[string][2]bool{}
	for of := range schedulesOf(scenarios(t)) {
		base := run(t, of, false)
		for _, op := range base.Operations() {
			if out[op] == [2]bool{true, true} {
				continue
			}
			have := out[op]
			for side, kind := range []sim.Kind{sim.Crash, sim.CrashAfter} {
				s := sim.Schedule{Scenario: of.Scenario, Class: of.Class, Faults: []sim.Fault{{Op: op, N: 1, Kind: kind}}}
				r := run(t, s, false)
				have[side] = have[side] || r.Processes > base.Processes
				for _, v := range r.Violations {
					t.Errorf("%s: %s: %s", s, v.Property, v.Text)
				}
			}
			out[op] = have
		}
	}

	return out
}
