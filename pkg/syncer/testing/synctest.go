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

// applyAnnotation is set by tools that install plugins. Comparisons ignore it.
const applyAnnotation = "vcluster.loft.sh/apply"

// A Compare reports whether a test considers two objects equal.
type Compare func(obj1, obj2 runtime.Object) bool

// NewContextFunc creates a context from two in-memory clusters.
type NewContextFunc func(pClient, vClient *FakeIndexClient) *synccontext.RegisterContext

// A SyncTest is a test case. It has the initial objects of two clusters, the steps of the test, and
// the expected objects.
type SyncTest struct {
	// Name is the name of the test case.
	Name string

	// InitialPhysicalState and InitialVirtualState are the objects in the clusters before Sync is
	// called. They are copied.
	InitialPhysicalState, InitialVirtualState []runtime.Object

	// Sync performs the steps of the test.
	Sync func(ctx *synccontext.RegisterContext)

	// ExpectedPhysicalState and ExpectedVirtualState are the expected objects in the clusters after Sync, by kind. For
	// each kind in the map, all expected objects must be listed. Objects of kinds that are not in the map are not
	// compared.
	ExpectedPhysicalState, ExpectedVirtualState map[schema.GroupVersionKind][]runtime.Object

	// Compare compares an expected with an actual object. Default: nil, which compares everything
	// except the fields that an API server sets and the ownership marks of the virtual cluster.
	Compare Compare
}

// RunTests runs every test case as a subtest, with NewFakeRegisterContext.
func RunTests(t *testing.T, tests []*SyncTest) {
	t.Helper()
	RunTestsWithContext(t, NewFakeRegisterContext, tests)
}

// RunTestsWithContext runs every test case as a subtest. The function createContext creates the context of each test
// case.
func RunTestsWithContext(t *testing.T, createContext NewContextFunc, tests []*SyncTest) {
	t.Helper()
	for _, s := range tests {
		t.Run(s.Name, func(t *testing.T) { s.Run(t, createContext) })
	}
}

// Run runs the test case. The function createContext creates the context of the test case.
func (s *SyncTest) Run(t *testing.T, createContext NewContextFunc) {
	t.Helper()
	scheme := NewScheme()
	p := NewFakeClient(scheme, copies(s.InitialPhysicalState)...)
	v := NewFakeClient(scheme, copies(s.InitialVirtualState)...)
	s.Sync(createContext(p, v))
	s.compare(t, "physical", p, s.ExpectedPhysicalState)
	s.compare(t, "virtual", v, s.ExpectedVirtualState)
}

// copies returns deep copies of the objects.
func copies(objs []runtime.Object) []runtime.Object {
	out := make([]runtime.Object, 0, len(objs))
	for _, o := range objs {
		out = append(out, o.DeepCopyObject())
	}
	return out
}

// compare compares the objects in one cluster with the expected ones.
func (s *SyncTest) compare(
	t *testing.T, side string, c client.Client, want map[schema.GroupVersionKind][]runtime.Object,
) {
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

// same compares two lists in any order.
func (s *SyncTest) same(t *testing.T, what string, scheme *runtime.Scheme, want, got []*unstructured.Unstructured) {
	t.Helper()
	if s.Compare == nil {
		if diff := cmp.Diff(contents(want), contents(got)); diff != "" {
			t.Errorf("%s objects: -want, +got:\n%s", what, diff)
		}
		return
	}
	for _, w := range want {
		i := slices.IndexFunc(got, func(g *unstructured.Unstructured) bool {
			return s.Compare(typedAs(scheme, w), typedAs(scheme, g))
		})
		if i < 0 {
			t.Errorf("%s: missing object %v", what, w.Object)
			continue
		}
		got = slices.Delete(got, i, i+1)
	}
	for _, g := range got {
		t.Errorf("%s: unexpected object %v", what, g.Object)
	}
}

// contents returns the contents of the objects by namespace and name.
func contents(objs []*unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for _, o := range objs {
		out[client.ObjectKeyFromObject(o).String()] = o.Object
	}
	return out
}

// typedAs returns the object as the Go type of the scheme, or as it is if that fails.
func typedAs(scheme *runtime.Scheme, u *unstructured.Unstructured) runtime.Object {
	o, err := scheme.New(u.GroupVersionKind())
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o) != nil {
		return u
	}
	return o
}

// stripped returns a copy of an object without the fields that an API server sets. It also removes
// the ownership marks with the names of the virtual cluster and the UIDs.
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
	for _, field := range []string{
		"resourceVersion", "uid", "generation", "creationTimestamp", "ownerReferences", "managedFields",
	} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	u.SetLabels(without(u.GetLabels(), translate.MarkerLabel))
	u.SetAnnotations(without(u.GetAnnotations(), applyAnnotation, translator.UIDAnnotation, translator.ClusterAnnotation))
	return u
}

// without removes keys from a map and returns nil if nothing remains.
func without(m map[string]string, keys ...string) map[string]string {
	for _, k := range keys {
		delete(m, k)
	}
	if len(m) == 0 {
		return nil
	}
	return m
}
