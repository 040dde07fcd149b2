package syncer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// accepting is an API server that takes every write, gives what was written a version, and says what it is told to.
type accepting struct {
	client.Client

	version string
	err     error
}

func (a accepting) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, clientgoscheme.Scheme)
}

func (a accepting) answer(obj any) error {
	if o, ok := obj.(client.Object); ok && a.err == nil {
		o.SetResourceVersion(a.version)
	}
	return a.err
}

func (a accepting) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	return a.answer(obj)
}

func (a accepting) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return a.answer(obj)
}

func (a accepting) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return a.answer(obj)
}

func (a accepting) Apply(_ context.Context, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	return a.answer(obj)
}

func (a accepting) Delete(context.Context, client.Object, ...client.DeleteOption) error { return a.err }

func (a accepting) Status() client.SubResourceWriter { return acceptingStatus{of: a} }

type acceptingStatus struct {
	client.SubResourceWriter

	of accepting
}

func (s acceptingStatus) Update(_ context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.of.answer(obj)
}

func (s acceptingStatus) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.of.answer(obj)
}

// TestNoting: a write is noted as what the API server answered, so that no pass starts before the cache shows it. What failed, what is of another
// kind, and what no cache could be compared with is not noted.
func TestNoting(t *testing.T) {
	ctx, merge := t.Context(), client.RawPatch(types.MergePatchType, []byte("{}"))
	given := func() *corev1.ConfigMap { return configMap("a", "7", false) }
	applied := func() runtime.ApplyConfiguration {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		u.SetNamespace("quay")
		u.SetName("a")
		u.SetUID("a")
		return client.ApplyConfigurationFromUnstructured(u)
	}
	written8, deleted := &written{uid: "a", version: "8"}, &written{uid: "a", version: "7", deleted: true}
	cases := map[string]struct {
		reason string
		write  func(c client.Client) error
		want   *written
	}{
		"Create":       {"what was made", func(c client.Client) error { return c.Create(ctx, configMap("a", "", false)) }, written8},
		"Update":       {"what was replaced", func(c client.Client) error { return c.Update(ctx, given()) }, written8},
		"Patch":        {"what was patched", func(c client.Client) error { return c.Patch(ctx, given(), merge) }, written8},
		"Apply":        {"what was applied, into which the answer is decoded", func(c client.Client) error { return c.Apply(ctx, applied()) }, written8},
		"UpdateStatus": {"whose status was replaced", func(c client.Client) error { return c.Status().Update(ctx, given()) }, written8},
		"PatchStatus":  {"whose status was patched", func(c client.Client) error { return c.Status().Patch(ctx, given(), merge) }, written8},
		"Delete":       {"the very object that is gone", func(c client.Client) error { return c.Delete(ctx, given()) }, deleted},
		"DeleteByUID":  {"which needs no version", func(c client.Client) error { return c.Delete(ctx, configMap("a", "", false)) }, &written{uid: "a", deleted: true}},
		"ApplyTyped":   {"a typed configuration has no accessors", func(c client.Client) error { return c.Apply(ctx, corev1ac.ConfigMap("a", "quay").WithUID("a")) }, nil},
		"OtherKind":    {"it is in another cache", func(c client.Client) error { return c.Update(ctx, &corev1.Secret{ObjectMeta: given().ObjectMeta}) }, nil},
		"NoUID":        {"it cannot be told from another one of that name", func(c client.Client) error { return c.Delete(ctx, configMap("", "7", false)) }, nil},
		"NoVersion": {"there is nothing to compare", func(c client.Client) error {
			n := c.(noting)
			n.Client = accepting{}
			return n.Update(ctx, given())
		}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(time.Unix(1000, 0))
			boom := errors.New("boom")
			for _, fails := range []error{nil, boom} {
				mem := newMemory(clock)
				c := noting{Client: accepting{version: "8", err: fails}, kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), side: physical, mem: mem}
				want := map[place]written{}
				if tc.want != nil && fails == nil {
					w := *tc.want
					w.at = clock.Now()
					want[place{physical, types.NamespacedName{Namespace: "quay", Name: "a"}}] = w
				}
				if err := tc.write(c); name != "NoVersion" && !errors.Is(err, fails) {
					t.Errorf("%s: got error %v, want %v", tc.reason, err, fails)
				}
				if diff := cmp.Diff(want, mem.writes, cmp.AllowUnexported(place{}, written{})); diff != "" {
					t.Errorf("%s: after error %v: -want, +got:\n%s", tc.reason, fails, diff)
				}
			}
		})
	}
}
