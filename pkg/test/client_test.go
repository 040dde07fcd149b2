package test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

var (
	errBoom = errors.New("boom")
	ctx     = context.Background()
	patch   = client.RawPatch(types.MergePatchType, []byte("{}"))
)

func pod() *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}} }

// calls names each method of a client that can fail, and calls it.
func calls(c client.Client) map[string]func() error {
	status, sub := c.Status(), c.SubResource("scale")

	return map[string]func() error{
		"Get":                 func() error { return c.Get(ctx, client.ObjectKey{}, pod()) },
		"List":                func() error { return c.List(ctx, &corev1.PodList{}) },
		"Create":              func() error { return c.Create(ctx, pod()) },
		"Delete":              func() error { return c.Delete(ctx, pod()) },
		"DeleteAllOf":         func() error { return c.DeleteAllOf(ctx, pod()) },
		"Update":              func() error { return c.Update(ctx, pod()) },
		"Patch":               func() error { return c.Patch(ctx, pod(), patch) },
		"Apply":               func() error { return c.Apply(ctx, nil) },
		"Status.Create":       func() error { return status.Create(ctx, pod(), pod()) },
		"Status.Update":       func() error { return status.Update(ctx, pod()) },
		"Status.Patch":        func() error { return status.Patch(ctx, pod(), patch) },
		"Status.Apply":        func() error { return status.Apply(ctx, nil) },
		"SubResource.Get":     func() error { return sub.Get(ctx, pod(), pod()) },
		"SubResource.Create":  func() error { return sub.Create(ctx, pod(), pod()) },
		"SubResource.Update":  func() error { return sub.Update(ctx, pod()) },
		"SubResource.Patch":   func() error { return sub.Patch(ctx, pod(), patch) },
		"SubResource.Apply":   func() error { return sub.Apply(ctx, nil) },
		"GroupVersionKindFor": func() error { _, err := c.GroupVersionKindFor(pod()); return err },
		"IsObjectNamespaced":  func() error { _, err := c.IsObjectNamespaced(pod()); return err },
	}
}

func TestEverythingSucceedsByDefault(t *testing.T) {
	for name, c := range map[string]client.Client{"Zero": &MockClient{}, "New": NewMockClient()} {
		for method, call := range calls(c) {
			if err := call(); err != nil {
				t.Errorf("%s: %s: %v, want no error", name, method, err)
			}
		}

		if c.Scheme() != nil || c.RESTMapper() != nil {
			t.Errorf("%s: there is a scheme or a mapper that nobody gave", name)
		}
	}
}

// TestEveryMethodHasItsFunction lets one function fail at a time, and expects
// just the method of its name to fail.
func TestEveryMethodHasItsFunction(t *testing.T) {
	gvk := schema.GroupVersionKind{Kind: "Pod"}

	cases := map[string]func(c *MockClient){
		"Get":         func(c *MockClient) { c.MockGet = NewMockGetFn(errBoom) },
		"List":        func(c *MockClient) { c.MockList = NewMockListFn(errBoom) },
		"Create":      func(c *MockClient) { c.MockCreate = NewMockCreateFn(errBoom) },
		"Delete":      func(c *MockClient) { c.MockDelete = NewMockDeleteFn(errBoom) },
		"DeleteAllOf": func(c *MockClient) { c.MockDeleteAllOf = NewMockDeleteAllOfFn(errBoom) },
		"Patch":       func(c *MockClient) { c.MockPatch = NewMockPatchFn(errBoom) },
		"Apply": func(c *MockClient) {
			c.MockApply = func(context.Context, runtime.ApplyConfiguration,
				...client.ApplyOption) error {
				return errBoom
			}
		},
		"Status.Create":       func(c *MockClient) { c.MockStatusCreate = NewMockSubResourceCreateFn(errBoom) },
		"Status.Patch":        func(c *MockClient) { c.MockStatusPatch = NewMockSubResourcePatchFn(errBoom) },
		"Status.Apply":        func(c *MockClient) { c.MockStatusApply = applyBoom },
		"SubResource.Get":     func(c *MockClient) { c.MockSubResourceGet = getBoom },
		"SubResource.Create":  func(c *MockClient) { c.MockSubResourceCreate = NewMockSubResourceCreateFn(errBoom) },
		"SubResource.Patch":   func(c *MockClient) { c.MockSubResourcePatch = NewMockSubResourcePatchFn(errBoom) },
		"SubResource.Apply":   func(c *MockClient) { c.MockSubResourceApply = applyBoom },
		"GroupVersionKindFor": func(c *MockClient) { c.MockGroupVersionKindFor = NewMockGroupVersionKindForFn(errBoom, gvk) },
		"IsObjectNamespaced": func(c *MockClient) {
			c.MockIsObjectNamespaced = NewMockIsObjectNamespacedFn(errBoom,
				true)
		},
		"Update": func(c *MockClient) {
			c.MockUpdate, c.MockPatch = NewMockUpdateFn(errBoom), NewMockPatchFn(nil)
		},
		"Status.Update": func(c *MockClient) {
			c.MockStatusUpdate, c.MockStatusPatch = NewMockSubResourceUpdateFn(errBoom), NewMockSubResourcePatchFn(nil)
		},
		"SubResource.Update": func(c *MockClient) {
			c.MockSubResourceUpdate, c.MockSubResourcePatch = NewMockSubResourceUpdateFn(errBoom), NewMockSubResourcePatchFn(nil)
		},
	}

	if got, want := len(cases), len(calls(NewMockClient())); got != want {
		t.Fatalf("%d cases for %d methods", got, want)
	}

	for name, set := range cases {
		t.Run(name, func(t *testing.T) {
			c := NewMockClient()
			set(c)

			for method, call := range calls(c) {
				var want error
				if method == name {
					want = errBoom
				}

				if err := call(); !errors.Is(err, want) {
					t.Errorf("%s returned %v, want %v", method, err, want)
				}
			}
		})
	}
}

func applyBoom(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return errBoom
}

func getBoom(context.Context, client.Object, client.Object, ...client.SubResourceGetOption) error {
	return errBoom
}

func TestPatchFallsBackToUpdate(t *testing.T) {
	cases := map[string]struct {
		reason string
		arm    func(c *MockClient, fn ObjectFn)
		patch  func(c *MockClient, o client.Object) error
	}{
		"Main": {
			reason: "A patch of the object is seen as an update of it.",
			arm:    func(c *MockClient, fn ObjectFn) { c.MockUpdate = NewMockUpdateFn(nil, fn) },
			patch:  func(c *MockClient, o client.Object) error { return c.Patch(ctx, o, patch) },
		},
		"Status": {
			reason: "So is one of its status.",
			arm:    func(c *MockClient, fn ObjectFn) { c.MockStatusUpdate = NewMockSubResourceUpdateFn(nil, fn) },
			patch:  func(c *MockClient, o client.Object) error { return c.Status().Patch(ctx, o, patch) },
		},
		"SubResource": {
			reason: "And of any other subresource.",
			arm:    func(c *MockClient, fn ObjectFn) { c.MockSubResourceUpdate = NewMockSubResourceUpdateFn(nil, fn) },
			patch:  func(c *MockClient, o client.Object) error { return c.SubResource("x").Patch(ctx, o, patch) },
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, fails := NewMockClient(), false
			tc.arm(c, func(o client.Object) error {
				if diff := cmp.Diff(pod(), o); diff != "" {
					t.Errorf("%s\nobject: -want, +got:\n%s", tc.reason, diff)
				}

				o.SetName("changed by the fake")

				if fails {
					return errBoom
				}

				return nil
			})

			o := pod()
			if err := tc.patch(c, o); err != nil {
				t.Errorf("%s\n%v, want no error", tc.reason, err)
			}

			fails = true
			if err := tc.patch(c, o); !errors.Is(err, errBoom) {
				t.Errorf("%s\n%v, want the error of the update", tc.reason, err)
			}

			if diff := cmp.Diff(pod(), o); diff != "" {
				t.Errorf("%s\nThe object was handed over itself: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFunctions(t *testing.T) {
	bang := errors.New("bang")
	gvk := schema.GroupVersionKind{Kind: "Pod"}
	scheme := runtime.NewScheme()

	var got []string

	seen := func(name string) ObjectFn {
		return func(o client.Object) error {
			got = append(got, name+" "+o.GetName())

			return nil
		}
	}

	fn := NewMockGetFn(errBoom, seen("first"), seen("second"))
	if err := fn(ctx, client.ObjectKey{}, pod()); !errors.Is(err, errBoom) {
		t.Errorf("%v, want the error that was given", err)
	}

	fn = NewMockGetFn(errBoom, func(client.Object) error { return bang }, seen("third"))
	if err := fn(ctx, client.ObjectKey{}, pod()); !errors.Is(err, bang) {
		t.Errorf("%v, want the error of the function", err)
	}

	if diff := cmp.Diff([]string{"first p", "second p"}, got); diff != "" {
		t.Errorf("functions: -want, +got:\n%s", diff)
	}

	c := &MockClient{
		MockScheme:              NewMockSchemeFn(scheme),
		MockGroupVersionKindFor: NewMockGroupVersionKindForFn(nil, gvk, func(o runtime.Object) error { return nil }),
		MockIsObjectNamespaced:  NewMockIsObjectNamespacedFn(nil, true),
		MockList: NewMockListFn(nil, func(l client.ObjectList) error {
			l.SetResourceVersion("7")

			return nil
		}),
	}

	list := &corev1.PodList{}
	if err := c.List(ctx, list); err != nil || list.ResourceVersion != "7" {
		t.Errorf("List(...) filled in %q, %v", list.ResourceVersion, err)
	}

	if c.Scheme() != scheme {
		t.Error("Scheme() returned another")
	}

	if got, err := c.GroupVersionKindFor(pod()); got != gvk || err != nil {
		t.Errorf("GroupVersionKindFor(...) = %s, %v", got, err)
	}

	if got, err := c.IsObjectNamespaced(pod()); !got || err != nil {
		t.Errorf("IsObjectNamespaced(...) = %t, %v", got, err)
	}
}
