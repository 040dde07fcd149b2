package testing

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// applyAnnotation is set by tools that install plugins; it says nothing about a
// syncer.
const applyAnnotation = "vcluster.loft.sh/apply"

// A Compare tells whether two objects are the same to a test.
type Compare func(obj1, obj2 runtime.Object) bool

// NewContextFunc makes a context from two clusters in memory.
type NewContextFunc func(pClient, vClient *FakeIndexClient) *synccontext.RegisterContext

// A SyncTest is a table's row: two clusters before and after something is done.
type SyncTest struct {
	// Name of the row.
	Name string

	// InitialPhysicalState and InitialVirtualState are what the clusters hold at
	// first. The objects are copied.
	InitialPhysicalState, InitialVirtualState []runtime.Object

	// Sync is what is done.
	Sync func(ctx *synccontext.RegisterContext)

	// ExpectedPhysicalState and ExpectedVirtualState are all objects that the
	// clusters hold in the end, of the kinds that are mentioned.
	ExpectedPhysicalState, ExpectedVirtualState map[schema.GroupVersionKind][]runtime.Object

	// Compare replaces the comparison. Default: equality, apart from what an API
	// server fills in and the marks of the virtual cluster.
	Compare Compare
}

// RunTests runs every row as a subtest.
func RunTests(t *testing.T, tests []*SyncTest) {
	t.Helper()
	RunTestsWithContext(t, NewFakeRegisterContext, tests)
}

// RunTestsWithContext does so with contexts of another make.
func RunTestsWithContext(t *testing.T, createContext NewContextFunc, tests []*SyncTest) {
	t.Helper()
	for _, s := range tests {
		t.Run(s.Name, func(t *testing.T) { s.Run(t, createContext) })
	}
}

// Run runs the row.
func (s *SyncTest) Run(t *testing.T, createContext NewContextFunc) {
	t.Helper()
	scheme := NewScheme()
	p := NewFakeClient(scheme, copies(s.InitialPhysicalState)...)
	v := NewFakeClient(scheme, copies(s.InitialVirtualState)...)
	s.Sync(createContext(p, v))
	s.compare(t, "physical", p, s.ExpectedPhysicalState)
	s.compare(t, "virtual", v, s.ExpectedVirtualState)
}

func copies(objs []runtime.Object) []runtime.Object {
	out := make([]runtime.Object, 0, len(objs))
	for _, o := range objs {
		out = append(out, o.DeepCopyObject())
	}
	return out
}

func (s *SyncTest) compare(t *testing.T, side string, c client.Client, want map[schema.GroupVersionKind][]runtime.Object) {
	t.Helper()
	for kind, objs := range want {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(context.Background(), list); err != nil {
			t.Fatalf("cannot list %s in the %s cluster: %v", kind.Kind, side, err)
		}
		got := make([]*unstructured.Unstructured, 0, len(list.Items))
		for i := range list.Items {
			got = append(got, stripped(t, c.Scheme(), &list.Items[i]))
		}
		wanted := make([]*unstructured.Unstructured, 0, len(objs))
		for _, o := range objs {
			wanted = append(wanted, stripped(t, c.Scheme(), o))
		}
		s.same(t, side+" "+kind.Kind, c.Scheme(), wanted, got)
	}
}

// same compares lists whatever their order is.
func (s *SyncTest) same(t *testing.T, what string, scheme *runtime.Scheme, want, got []*unstructured.Unstructured) {
	t.Helper()
	if s.Compare == nil {
		if diff := cmp.Diff(contents(want), contents(got)); diff != "" {
			t.Errorf("%s objects: -want, +got:\n%s", what, diff)
		}
		return
	}
	for _, w := range want {
		i := slices.IndexFunc(got, func(g *unstructured.Unstructured) bool { return s.Compare(typedAs(scheme, w), typedAs(scheme, g)) })
		if i < 0 {
			t.Errorf("%s: nothing is like %v", what, w.Object)
			continue
		}
		got = slices.Delete(got, i, i+1)
	}
	for _, g := range got {
		t.Errorf("%s: nobody wants %v", what, g.Object)
	}
}

func contents(objs []*unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for _, o := range objs {
		out[client.ObjectKeyFromObject(o).String()] = o.Object
	}
	return out
}

func typedAs(scheme *runtime.Scheme, u *unstructured.Unstructured) runtime.Object {
	o, err := scheme.New(u.GroupVersionKind())
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o) != nil {
		return u
	}
	return o
}

// stripped returns an object without what an API server fills in and without the
// marks that say which cluster and which incarnation it is the image of.
func stripped(t *testing.T, scheme *runtime.Scheme, obj runtime.Object) *unstructured.Unstructured {
	t.Helper()
	kind, err := apiutil.GVKForObject(obj, scheme)
	if err != nil {
		t.Fatal(err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj.DeepCopyObject())
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	for _, field := range []string{"resourceVersion", "uid", "generation", "creationTimestamp", "ownerReferences", "managedFields"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	u.SetLabels(without(u.GetLabels(), translate.MarkerLabel))
	u.SetAnnotations(without(u.GetAnnotations(), applyAnnotation, translator.UIDAnnotation, translator.ClusterAnnotation))
	return u
}

func without(m map[string]string, keys ...string) map[string]string {
	for _, k := range keys {
		delete(m, k)
	}
	if len(m) == 0 {
		return nil
	}
	return m
}
