package sim_test

import (
	"go/ast"
	"go/constant"
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

	"github.com/moorage-dev/moorage/internal/sim"
)

const (
	runtimePackage = "github.com/moorage-dev/moorage/pkg/reconciler/managed"
	clientPackage  = "sigs.k8s.io/controller-runtime/pkg/client"
)

// simulated has the packages that run in a pass: the runtime, and packages that it or an author uses with its clients.
var simulated = map[string]string{
	runtimePackage: "../../pkg/reconciler/managed",
	"github.com/moorage-dev/moorage/pkg/reference":   "../../pkg/reference",
	"github.com/moorage-dev/moorage/pkg/credentials": "../../pkg/credentials",
}

// checked returns the syntax and the types of a simulated package.
func checked(t *testing.T, pkg string, exports map[string]string) ([]*ast.File, *types.Info) {
	t.Helper()
	fset, files := parsed(t, simulated[pkg])

	return check(t, pkg, fset, files, exports)
}

// parsed returns the syntax of the package in a folder, without its tests.
func parsed(t *testing.T, folder string) (*token.FileSet, []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there is no source in %q: %v", folder, err)
	}
	fset := token.NewFileSet()
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

	return fset, files
}

func check(t *testing.T, pkg string, fset *token.FileSet, files []*ast.File, exports map[string]string) ([]*ast.File,
	*types.Info) {
	t.Helper()
	info := &types.Info{
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{},
		Uses: map[*ast.Ident]types.Object{},
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	if _, err := config.Check(pkg, fset, files, info); err != nil {
		t.Fatal(err)
	}

	return files, info
}

// compiled returns the files of the compiled packages that some need.
func compiled(t *testing.T, packages ...string) map[string]string {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, packages...)
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

// asked returns all calls of methods of client interfaces that take a context.
func asked(t *testing.T) map[string]bool {
	t.Helper()
	exports := compiled(t, slices.Sorted(maps.Keys(simulated))...)
	found := map[string]bool{}
	for pkg := range simulated {
		maps.Copy(found, operations(checked(t, pkg, exports)))
	}

	return found
}

// operations returns those of a package.
func operations(files []*ast.File, info *types.Info) map[string]bool {
	found := map[string]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			within := declaration{d, f, info, map[ast.Node]bool{}}
			ast.Inspect(d, func(n ast.Node) bool {
				for _, name := range within.operations(n) {
					found[name] = true
				}

				return true
			})
		}
	}

	return found
}

// A declaration is searched for operations.
type declaration struct {
	ast.Decl

	file  *ast.File
	info  *types.Info
	calls map[ast.Node]bool // that were seen
}

// operations returns the names that the simulator has for a call, or for a method that may be called later. There are
// several if one call requests objects of several kinds.
func (d declaration) operations(n ast.Node) []string {
	if d.calls[n] {
		return nil
	}
	info := d.info
	var args []ast.Expr
	if call, calls := n.(*ast.CallExpr); calls {
		n, args = call.Fun, call.Args
		d.calls[n] = true
	}
	at, ok := n.(*ast.SelectorExpr)
	if !ok || info.Selections[at] == nil {
		return nil
	}
	method, ok := info.Selections[at].Obj().(*types.Func)
	if !ok {
		return nil
	}
	s := method.Signature()
	if !method.Exported() { // only this package implements it: what it calls is found there
		return nil
	}
	if s.Params().Len() == 0 || s.Params().At(0).Type().String() != "context.Context" ||
		!types.IsInterface(s.Recv().Type()) {
		return nil
	}
	of := ""
	if named, ok := s.Recv().Type().(*types.Named); ok {
		of = named.Obj().Name()
	}
	if method.Pkg().Path() == clientPackage {
		var names []string
		for _, kind := range d.kinds(method.Name(), args) {
			names = append(names, request(of, method.Name(), types.ExprString(at.X), kind))
		}

		return names
	}
	switch name, known := outside[of+"."+method.Name()]; {
	case !known:
		return []string{"an unnamed type: " + of + "." + method.Name()}
	case name == "":
		return nil
	default:
		return []string{name}
	}
}

// outside has the names of the operations of interfaces. A method has no name if its requests are found in its
// implementation, if it makes none, or if no pass waits for it because it starts work on another goroutine.
var outside = map[string]string{
	"TypedExternalClient.Observe": "Observe", "TypedExternalClient.Create": "Create",
	"TypedExternalClient.Update": "Update", "TypedExternalClient.Delete": "Delete",
	"TypedExternalClient.Disconnect": "Disconnect", "ExternalDisconnecter.Disconnect": "Disconnect",
	"TypedExternalConnector.Connect":         "Connect",
	"TypedCreationRecoverer.RecoverCreation": "Recover", "TypedExternalLister.ListPage": "List",
	"TypedExternalLister.ObserveListed":     "",
	"ConnectionPublisher.PublishConnection": "", "ConnectionPreparer.PrepareConnection": "",
	"CriticalAnnotationUpdater.UpdateCriticalAnnotations": "", "Initializer.Initialize": "",
	"ReferenceResolver.ResolveReferences": "", "Referencer.ResolveReferences": "",
	"ExternalEventSource.Subscribe": "Subscribe",
	"Finalizer.AddFinalizer":        "", "Finalizer.RemoveFinalizer": "", "Sink.Record": "Record",
	"Informers.GetInformer": "", "Watcher.Watch": "",
}

// request names a request to the API server. Only objects of the kind come from a cache.
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

// Kinds of objects by their types, as operations have them. The managed kind has none, nor
// has an object of any kind, which is one of it in what is simulated.
var kindsByType = map[string]string{
	"github.com/moorage-dev/moorage/pkg/resource.Managed":  "",
	"sigs.k8s.io/controller-runtime/pkg/client.Object":     "",
	"sigs.k8s.io/controller-runtime/pkg/client.ObjectList": "",
	"*k8s.io/api/core/v1.Secret":                           ":Secret",
	"*k8s.io/api/core/v1.Namespace":                        ":Namespace",
}

// kinds returns the kinds of the object of a request.
func (d declaration) kinds(method string, args []ast.Expr) []string {
	about := 1
	if method == "Get" {
		about = 2
	}
	if len(args) <= about {
		return []string{" of an unnamed type, called later"}
	}
	of := d.info.Types[args[about]].Type.String()
	if strings.HasSuffix(of, "meta/v1.PartialObjectMetadata") {
		return d.namedKinds()
	}
	kind, known := kindsByType[of]
	if !known {
		kind = " of an unnamed type: " + of
	}

	return []string{kind}
}

// namedKinds returns the kinds that the file of a declaration names in a table, for objects of which only metadata are
// read.
func (d declaration) namedKinds() []string {
	var kinds []string
	ast.Inspect(d.file, func(n ast.Node) bool {
		row, ok := n.(*ast.CompositeLit)
		if !ok || d.info.Types[row].Type == nil {
			return true
		}
		of, ok := d.info.Types[row].Type.Underlying().(*types.Struct)
		if !ok {
			return true
		}
		for i, value := range row.Elts {
			name := ""
			if pair, keyed := value.(*ast.KeyValueExpr); keyed {
				name, value = types.ExprString(pair.Key), pair.Value
			} else {
				name = of.Field(i).Name()
			}
			if text := d.info.Types[value].Value; strings.EqualFold(name, "kind") && text != nil &&
				text.Kind() == constant.String {
				kinds = append(kinds, ":"+constant.StringVal(text))
			}
		}

		return true
	})
	if len(kinds) == 0 {
		return []string{" of metadata of an unnamed kind"}
	}

	return kinds
}

// TestUnknownOperations checks that a request for which the simulator has no name is found, so that no request of the
// runtime is missed.
func TestUnknownOperations(t *testing.T) {
	exports := compiled(t, slices.Sorted(maps.Keys(simulated))...)
	for asks, want := range map[string]string{
		`c.Get(ctx, k, &core.Secret{})`:                "live:Secret",
		`c.Create(ctx, mg)`:                            "create",
		`c.Status().Patch(ctx, mg, nil)`:               "patch/status",
		`c.Get(ctx, k, &core.ConfigMap{})`:             "live of an unnamed type: *k8s.io/api/core/v1.ConfigMap",
		`c.Get(ctx, k, &meta.PartialObjectMetadata{})`: "live of metadata of an unnamed kind",
		`for _, of := range []struct{ n, kind string }{{"x", "Node"}} { o := &meta.PartialObjectMetadata{}; o.Kind = ` +
			`of.kind; c.Get(ctx, k, o) }`: "live:Node",
		`later(c.Delete)`: "delete of an unnamed type, called later",
		`w.Watch(ctx)`:    "an unnamed type: watcher.Watch",
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", `package x
import ("context"; core "k8s.io/api/core/v1"; meta "k8s.io/apimachinery/pkg/apis/meta/v1")
import ("sigs.k8s.io/controller-runtime/pkg/client"; "github.com/moorage-dev/moorage/pkg/resource")
var ( _ core.Secret; _ meta.PartialObjectMetadata )
type watcher interface { Watch(context.Context) }
func later(any) {}
func f(ctx context.Context, c client.Client, k client.ObjectKey, mg resource.Managed, w watcher) { `+asks+` }`,
			parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for name := range operations(check(t, "x", fset, []*ast.File{f}, exports)) {
			names = append(names, name)
		}
		if !slices.Equal(names, []string{want}) {
			t.Errorf("%s is called %q, want %q", asks, names, want)
		}
	}
}

// planned returns the operations that only a plan has. A plan changes nothing, and no process of a world makes one.
func planned() []string {
	return []string{
		"an unnamed type: Informers.WaitForCacheSync", "an unnamed type: Manager.Start",
		"apply of an unnamed type: k8s.io/apimachinery/pkg/runtime.ApplyConfiguration",
		"live of an unnamed type: *k8s.io/apimachinery/pkg/apis/meta/v1/unstructured.Unstructured",
		"patch of an unnamed type: *k8s.io/apimachinery/pkg/apis/meta/v1/unstructured.Unstructured",
	}
}

// TestEveryOperationIsCrossed checks that for each operation of the runtime there is a run in which the process dies
// before it, and one in which it dies after it. A new operation of the runtime has to be in a scenario.
func TestEveryOperationIsCrossed(t *testing.T) {
	wanted := asked(t)
	if len(wanted) < 10 {
		t.Fatalf("the runtime asks for %v only: these are not found as they should be",
			slices.Sorted(maps.Keys(wanted)))
	}
	crossed := crashed(t)
	for name := range crossed {
		wanted[name] = true // not found in the source
	}
	for _, name := range planned() {
		if !wanted[name] {
			t.Errorf("%s is no operation any more: remove it from the list", name)
		}
		delete(wanted, name)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		for side, kind := range []sim.Kind{sim.Crash, sim.CrashAfter} {
			if !crossed[name][side] {
				t.Errorf("no process has died at %s: %s. A scenario has to have this operation.", name, kind)
			}
		}
	}
}

// schedulesOf returns the schedules without faults of all scenarios.
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

// crashed kills the process at the first of each operation of every scenario, and returns where it died: before and
// after.
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
				s := sim.Schedule{
					Scenario: of.Scenario, Class: of.Class,
					Faults: []sim.Fault{{Op: op, N: 1, Kind: kind}},
				}
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
