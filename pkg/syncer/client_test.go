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

// An acceptingClient implements a client whose writes all succeed with a version, or fail
// with an error.
type acceptingClient struct {
	client.Client

	version string
	err     error
}

func (a acceptingClient) GroupVersionKindFor(obj runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(obj, clientgoscheme.Scheme)
}

func (a acceptingClient) respond(obj any) error {
	if o, ok := obj.(client.Object); ok && a.err == nil {
		o.SetResourceVersion(a.version)
	}
	return a.err
}

func (a acceptingClient) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	return a.respond(obj)
}

func (a acceptingClient) Update(_ context.Context, obj client.Object, _ ...client.UpdateOption) error {
	return a.respond(obj)
}

func (a acceptingClient) Patch(_ context.Context, obj client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return a.respond(obj)
}

func (a acceptingClient) Apply(_ context.Context, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	return a.respond(obj)
}

func (a acceptingClient) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return a.err
}

func (a acceptingClient) Status() client.SubResourceWriter { return acceptingStatusWriter{client: a} }

// An acceptingStatusWriter is the status writer of an acceptingClient.
type acceptingStatusWriter struct {
	client.SubResourceWriter

	client acceptingClient
}

func (s acceptingStatusWriter) Update(_ context.Context, obj client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.client.respond(obj)
}

func (s acceptingStatusWriter) Patch(
	_ context.Context, obj client.Object, _ client.Patch, _ ...client.SubResourcePatchOption,
) error {
	return s.client.respond(obj)
}

// TestRecordingClient verifies that a successful write is tracked with the UID and
// version of the response. Failed writes, writes of another kind and writes whose result
// cannot be compared with a cache are not tracked.
func TestRecordingClient(t *testing.T) {
	ctx, merge := t.Context(), client.RawPatch(types.MergePatchType, []byte("{}"))
	given := func() *corev1.ConfigMap { return configMap("a", "7", false) }
	applied := func() runtime.ApplyConfiguration {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		u.SetNamespace("host-ns")
		u.SetName("a")
		u.SetUID("a")
		return client.ApplyConfigurationFromUnstructured(u)
	}
	written8, deleted := &pendingWrite{uid: "a", version: "8"}, &pendingWrite{uid: "a", version: "7", deleted: true}
	cases := map[string]struct {
		reason string
		write  func(c client.Client) error
		want   *pendingWrite
	}{
		"Create": {
			"what was made", func(c client.Client) error { return c.Create(ctx, configMap("a", "", false)) }, written8,
		},
		"Update": {"what was replaced", func(c client.Client) error { return c.Update(ctx, given()) }, written8},
		"Patch":  {"what was patched", func(c client.Client) error { return c.Patch(ctx, given(), merge) }, written8},
		"Apply": {
			"what was applied, into which the answer is decoded", func(c client.Client) error { return c.Apply(ctx, applied()) },
			written8,
		},
		"UpdateStatus": {
			"whose status was replaced", func(c client.Client) error { return c.Status().Update(ctx, given()) }, written8,
		},
		"PatchStatus": {
			"whose status was patched", func(c client.Client) error { return c.Status().Patch(ctx, given(), merge) }, written8,
		},
		"Delete": {
			"the very object that is gone", func(c client.Client) error { return c.Delete(ctx, given()) }, deleted,
		},
		"DeleteByUID": {
			"which needs no version", func(c client.Client) error { return c.Delete(ctx, configMap("a", "", false)) },
			&pendingWrite{uid: "a", deleted: true},
		},
		"ApplyTyped": {
			"a typed configuration has no accessors",
			func(c client.Client) error { return c.Apply(ctx, corev1ac.ConfigMap("a", "host-ns").WithUID("a")) }, nil,
		},
		"OtherKind": {
			"it is in another cache",
			func(c client.Client) error { return c.Update(ctx, &corev1.Secret{ObjectMeta: given().ObjectMeta}) }, nil,
		},
		"NoUID": {
			"without a UID the object is ambiguous",
			func(c client.Client) error { return c.Delete(ctx, configMap("", "7", false)) }, nil,
		},
		"NoVersion": {"there is nothing to compare", func(c client.Client) error {
			n := c.(recordingClient)
			n.Client = acceptingClient{}
			return n.Update(ctx, given())
		}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(time.Unix(1000, 0))
			boom := errors.New("boom")
			for _, fails := range []error{nil, boom} {
				mem := newTracker(clock)
				c := recordingClient{
					Client: acceptingClient{version: "8", err: fails}, kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
					side: physical, tracker: mem,
				}
				want := map[objectKey]pendingWrite{}
				if tc.want != nil && fails == nil {
					w := *tc.want
					w.at = clock.Now()
					want[objectKey{physical, types.NamespacedName{Namespace: "host-ns", Name: "a"}}] = w
				}
				if err := tc.write(c); name != "NoVersion" && !errors.Is(err, fails) {
					t.Errorf("%s: got error %v, want %v", tc.reason, err, fails)
				}
				if diff := cmp.Diff(want, mem.writes, cmp.AllowUnexported(objectKey{}, pendingWrite{})); diff != "" {
					t.Errorf("%s: after error %v: -want, +got:\n%s", tc.reason, fails, diff)
				}
			}
		})
	}
}
