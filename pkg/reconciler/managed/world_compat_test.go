package managed_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
	"github.com/moorage-dev/moorage/pkg/test"
)

// Golden files are written anew by go test -golden.
var golden = flag.Bool("golden", false, "write the golden files of testdata anew")

var errBoom = errors.New("boom")

// moment is the time of all compatibility tests, to the second, the precision of marks.
var moment = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)

// The jitter of all compatibility tests is half of the most there is, so that a
// delay shows whether it was jittered.
const jittered = 1.05

// A reportedState is the result of one pass over one object: for the queue, and in the written status.
type reportedState struct {
	Requeue      bool
	RequeueAfter time.Duration
	Err          string
	Conditions   []commonv1.Condition // nil: no status was written
	Annotations  map[string]string    // of the object whose status was written
}

// A mock is an API server and an external system for one pass, made of functions
// as authors of providers make them in their own tests.
type mock struct {
	of   resource.Managed    // of the type that is reconciled
	fill func(client.Object) // makes what Get answers

	get    error // the answers of the API server
	update error
	status error

	stored test.ObjectFn // is called for every write of the object that is not one of its status

	external managed.ExternalClient
	options  []managed.ReconcilerOption
}

// pass makes the pass.
func (m mock) pass(t *testing.T) reportedState {
	t.Helper()
	var got reportedState
	api := test.NewMockClient()
	api.MockGet = test.NewMockGetFn(m.get, func(o client.Object) error {
		if m.fill != nil {
			m.fill(o)
		}

		return nil
	})
	api.MockUpdate = test.NewMockUpdateFn(m.update, func(o client.Object) error {
		if m.stored == nil {
			return nil
		}

		return m.stored(o)
	})
	api.MockStatusUpdate = test.NewMockSubResourceUpdateFn(m.status, func(o client.Object) error {
		var stored struct {
			Status commonv1.ConditionedStatus `json:"status"`
		}
		data, err := json.Marshal(o)
		if err != nil {
			return err
		}
		got.Annotations = o.GetAnnotations()
		err = json.Unmarshal(data, &stored)
		got.Conditions = stored.Status.Conditions

		return err
	})
	options := append([]managed.ReconcilerOption{
		managed.WithClock(testclock.NewFakePassiveClock(moment)),
		managed.WithRandom(func() float64 { return 0.75 }),
		managed.WithExternalConnecter(connecting(m.external)),
	}, m.options...)
	manager := &fake.Manager{Client: api, Scheme: fake.SchemeWith(m.of)}
	r := managed.NewReconciler(manager, resource.ManagedKind(fake.GVK(m.of)), options...)
	result, err := r.Reconcile(t.Context(), reconcile.Request{})
	got.Requeue, got.RequeueAfter = result.Requeue, result.RequeueAfter //nolint:staticcheck // conflicts are answered so
	if err != nil {
		got.Err = err.Error()
	}

	return got
}

// diff compares results. Conditions are a map by type, so that their order does not matter.
func diff(want, got reportedState) string {
	return cmp.Diff(ordered(want), ordered(got), test.EquateConditions())
}

func ordered(t reportedState) reportedState {
	t.Conditions = slices.SortedFunc(slices.Values(t.Conditions), func(a, b commonv1.Condition) int {
		return strings.Compare(string(a.Type), string(b.Type))
	})
	if len(t.Annotations) == 0 {
		t.Annotations = nil
	}

	return t
}

// String returns the result in one line of a table.
func (t reportedState) String() string {
	var parts []string
	switch {
	case t.Err != "":
		parts = append(parts, "error `"+t.Err+"`")
	case t.Requeue:
		parts = append(parts, "`Requeue`")
	case t.RequeueAfter > 0:
		parts = append(parts, "`RequeueAfter` "+t.RequeueAfter.String())
	default:
		parts = append(parts, "empty result")
	}
	for _, c := range ordered(t).Conditions {
		text := fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			text += " `" + c.Message + "`"
		}
		parts = append(parts, text)
	}
	if t.Conditions == nil {
		parts = append(parts, "no status written")
	}
	if id := t.Annotations[meta.AnnotationKeyCreateAttempt]; id != "" {
		parts = append(parts, "`"+meta.AnnotationKeyCreateAttempt+": "+id+"`")
	}

	return strings.Join(parts, "; ")
}

// connecting connects to a client made of functions.
func connecting(c managed.ExternalClient) managed.ExternalConnecter {
	return managed.ExternalConnectorFn(func(context.Context,
		resource.Managed) (managed.ExternalClient, error) {
		return c, nil
	})
}

// observes returns a client whose Observe always finds o.
func observes(o managed.ExternalObservation) managed.ExternalClientFns {
	return managed.ExternalClientFns{ObserveFn: func(context.Context,
		resource.Managed) (managed.ExternalObservation, error) {
		return o, nil
	}}
}

// answers returns a call of a client that is answered with err.
func answers(err error) func(context.Context, resource.Managed) error {
	return func(context.Context, resource.Managed) error { return err }
}

// annotated returns what makes an object with annotations, given as keys and
// values.
func annotated(keysAndValues ...string) func(*fake.Managed) {
	return func(mg *fake.Managed) { meta.AddAnnotations(mg, pairs(keysAndValues...)) }
}

func pairs(keysAndValues ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(keysAndValues); i += 2 {
		m[keysAndValues[i]] = keysAndValues[i+1]
	}

	return m
}

// An authors finalizer answers with err.
func authors(add, remove error) managed.ReconcilerOption {
	return managed.WithFinalizer(resource.FinalizerFns{
		AddFinalizerFn:    func(context.Context, resource.Object) error { return add },
		RemoveFinalizerFn: func(context.Context, resource.Object) error { return remove },
	})
}

// checkGolden compares a text with a file of testdata.
func checkGolden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *golden {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("testdata/%s is not what the tests say (go test -golden writes it anew): -want, +got:\n%s", name, diff)
	}
}

// testNames returns the names of the tests of packages, given by their folders:
// as they are for this package, and after its name for others.
func testNames(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no tests in %s: %v", folder, err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			prefix := ""
			if folder != "." {
				prefix = filepath.Base(folder) + "."
			}
			for _, d := range parsed.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
					names[prefix+fn.Name.Name] = true
				}
			}
		}
	}

	return names
}
