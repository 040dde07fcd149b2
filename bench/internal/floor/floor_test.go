package floor

import (
	"context"
	"slices"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/bench/internal/cloud"
	"github.com/moorage-dev/moorage/bench/internal/widget"
)

var key = client.ObjectKey{Namespace: "default", Name: "north"}

// A harness is one widget and the list of requests that were sent.
type harness struct {
	*testing.T

	api  client.WithWatch
	r    *Reconciler
	sent []string
}

func newHarness(t *testing.T, named bool) *harness {
	t.Helper()
	scheme := kruntime.NewScheme()
	if err := widget.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	h := &harness{T: t}
	h.api = ctrlfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&widget.Widget{}).Build()
	h.r = &Reconciler{Client: interceptor.NewClient(h.api, h.recorder()), Cloud: &cloud.Cloud{}, Poll: time.Minute,
		Named: named}
	b := widget.New(key.Namespace, key.Name)
	b.UID, b.Generation = "uid-1", 1
	if err := h.api.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}

	return h
}

// recorder records each verb, whatever its result.
func (h *harness) recorder() interceptor.Funcs {
	note := func(what string) { h.sent = append(h.sent, what) }

	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			note("get")

			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			note("list")

			return c.List(ctx, l, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			note("create")

			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			note("update")

			return c.Update(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			note("delete")

			return c.Delete(ctx, o, opts...)
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteAllOfOption) error {
			note("delete all")

			return c.DeleteAllOf(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			note("patch")

			return c.Patch(ctx, o, p, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o kruntime.ApplyConfiguration,
			opts ...client.ApplyOption) error {
			note("apply")

			return c.Apply(ctx, o, opts...)
		},
		Watch: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) (watch.Interface,
			error) {
			note("watch")

			return c.Watch(ctx, l, opts...)
		},
		SubResource: func(c client.WithWatch, sub string) client.SubResourceClient {
			return subRecorder{c.SubResource(sub), func(verb string) { note(verb + " " + sub) }}
		},
	}
}

// A subRecorder records each verb for a subresource.
type subRecorder struct {
	client.SubResourceClient

	note func(verb string)
}

func (r subRecorder) Get(ctx context.Context, o, sub client.Object, opts ...client.SubResourceGetOption) error {
	r.note("get")

	return r.SubResourceClient.Get(ctx, o, sub, opts...)
}

func (r subRecorder) Create(ctx context.Context, o, sub client.Object, opts ...client.SubResourceCreateOption) error {
	r.note("create")

	return r.SubResourceClient.Create(ctx, o, sub, opts...)
}

func (r subRecorder) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	r.note("update")

	return r.SubResourceClient.Update(ctx, o, opts...)
}

func (r subRecorder) Patch(ctx context.Context, o client.Object, p client.Patch,
	opts ...client.SubResourcePatchOption) error {
	r.note("patch")

	return r.SubResourceClient.Patch(ctx, o, p, opts...)
}

func (r subRecorder) Apply(ctx context.Context, o kruntime.ApplyConfiguration,
	opts ...client.SubResourceApplyOption) error {
	r.note("apply")

	return r.SubResourceClient.Apply(ctx, o, opts...)
}

// pass runs one reconcile and compares its requests. The Get at the beginning, which a manager's client serves from
// its cache, is not counted; all others are requests.
func (h *harness) pass(want ...string) {
	h.Helper()
	h.sent = nil
	result, err := h.r.Reconcile(h.Context(), reconcile.Request{NamespacedName: key})
	if err != nil {
		h.Fatal(err)
	}
	if want = append([]string{"get"}, want...); !slices.Equal(h.sent, want) {
		h.Errorf("sent %q, want %q", h.sent, want)
	}
	if result.Priority == nil && h.get() != nil {
		h.Error("a poll without its priority")
	}
}

func (h *harness) get() *widget.Widget {
	h.Helper()
	b := &widget.Widget{}
	if err := h.api.Get(h.Context(), key, b); err != nil {
		if kerrors.IsNotFound(err) {
			return nil
		}
		h.Fatal(err)
	}

	return b
}

// TestReconcileRequests checks that the floor does its work with the requests that it claims.
func TestReconcileRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		named  bool
		create []string
	}{
		"Assigned": {create: []string{"patch", "patch", "patch status"}},
		"Named":    {named: true, create: []string{"patch", "patch status"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, tc.named)
			h.pass(tc.create...)
			if !h.get().Ready() || h.r.Cloud.Len() != 1 {
				t.Errorf("ready %t, %d outside", h.get().Ready(), h.r.Cloud.Len())
			}
			h.pass()

			b := h.get()
			b.Spec.Size, b.Generation = 2, 2
			if err := h.api.Update(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			h.pass("patch status")
			if !h.get().Ready() || h.get().Status.Size != 2 {
				t.Errorf("status %+v", h.get().Status)
			}

			if err := h.api.Delete(t.Context(), h.get()); err != nil {
				t.Fatal(err)
			}
			h.pass("patch")
			if h.get() != nil || h.r.Cloud.Len() != 0 {
				t.Errorf("object %v, %d outside", h.get(), h.r.Cloud.Len())
			}
		})
	}
}

// TestCreateAfterCrash checks that a process that died between create and record finds its widget again by the token.
func TestCreateAfterCrash(t *testing.T) {
	h := newHarness(t, false)
	if _, err := h.r.Cloud.Make(t.Context(), "", "uid-1", 1); err != nil { // created by the dead process
		t.Fatal(err)
	}
	h.pass("patch", "patch", "patch status")
	if n := h.r.Cloud.Len(); n != 1 {
		t.Errorf("%d widgets for one object", n)
	}
}

// A cached client answers from memory, as a manager's client does.
type cached struct {
	client.Client

	b *widget.Widget
}

func (c cached) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	c.b.DeepCopyInto(o.(*widget.Widget)) // the only kind

	return nil
}

func TestTheFloorAllocatesLittle(t *testing.T) {
	h := newHarness(t, false)
	h.pass("patch", "patch", "patch status")
	h.r.Client = cached{b: h.get()}
	n := testing.AllocsPerRun(100, func() {
		if _, err := h.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
	})
	if n > 60 {
		t.Errorf("%.0f allocations in a steady pass, want at most 60", n)
	}
}

// TestSpreadAfterRestart checks that only healthy objects are deferred after a restart, each to a moment within one
// poll interval.
func TestSpreadAfterRestart(t *testing.T) {
	h := newHarness(t, false)
	h.r.Poll, h.r.spread = time.Hour, true
	h.pass("patch", "patch", "patch status") // creation
	request := reconcile.Request{NamespacedName: key}
	h.sent = nil
	result, err := h.r.Reconcile(t.Context(), request)
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > time.Hour || h.r.Cloud.Counts().Calls["Find"] != 1 {
		t.Errorf("result %+v, error %v, calls %v: want it to wait for its turn", result, err, h.r.Cloud.Counts().Calls)
	}
	h.r.began = time.Now().Add(-result.RequeueAfter - time.Minute)
	h.pass()
	if n := h.r.Cloud.Counts().Calls["Find"]; n != 2 {
		t.Errorf("%d looks when its turn has come, want a second", n)
	}
	h.r.began = time.Now()
	b := h.get()
	b.Spec.Size, b.Generation = 2, 2
	if err := h.api.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	h.pass("patch status")
	if err := h.api.Delete(t.Context(), h.get()); err != nil {
		t.Fatal(err)
	}
	h.pass("patch")
}

// TestNoRequeueAfterDelete checks that the reconcile that removes the finalizer requests no other.
func TestNoRequeueAfterDelete(t *testing.T) {
	h := newHarness(t, false)
	h.pass("patch", "patch", "patch status")
	if err := h.api.Delete(t.Context(), h.get()); err != nil {
		t.Fatal(err)
	}
	if result, err := h.r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil || !result.IsZero() ||
		h.get() != nil {
		t.Errorf("result %+v, error %v, object %v", result, err, h.get())
	}
}

// TestAsks checks that changes of users trigger a reconcile, and writes of the floor do not.
func TestAsks(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*widget.Widget)
		asks   bool
	}{
		"Generation": {func(b *widget.Widget) { b.Generation++ }, true},
		"Deleted":    {func(b *widget.Widget) { b.DeletionTimestamp = new(metav1.Now()) }, true},
		"Label":      {func(b *widget.Widget) { b.Labels["zone"] = "south" }, true},
		"Annotation": {func(b *widget.Widget) { b.Annotations["theirs"] = "x" }, true},
		"Removed":    {func(b *widget.Widget) { delete(b.Annotations, "theirs too") }, true},
		"Finalizer":  {func(b *widget.Widget) { b.Finalizers = append(b.Finalizers, "theirs") }, true},
		"Ours": {func(b *widget.Widget) {
			b.Finalizers, b.Annotations[nameKey], b.Annotations[tokenKey] = append(b.Finalizers, finalizer), "n", "t"
		}, false},
		"Status": {func(b *widget.Widget) { b.Status.Size, b.ResourceVersion = 2, "2" }, false},
	} {
		before := widget.New(key.Namespace, key.Name)
		before.Annotations = map[string]string{"theirs too": "x"}
		now := before.DeepCopyObject().(*widget.Widget) // same type as the copied object
		tc.change(now)
		if got := asks(event.UpdateEvent{ObjectOld: before, ObjectNew: now}); got != tc.asks {
			t.Errorf("%s: asks for a pass is %t, want %t", name, got, tc.asks)
		}
	}
}

func BenchmarkSteadyPass(b *testing.B) {
	object := widget.New(key.Namespace, key.Name)
	object.UID, object.Finalizers, object.Annotations, object.Spec.Size = "uid-1", []string{finalizer},
		map[string]string{}, 1
	r := &Reconciler{Cloud: &cloud.Cloud{}, Poll: time.Minute}
	id, err := r.Cloud.Make(b.Context(), "", "", 1)
	if err != nil {
		b.Fatal(err)
	}
	object.Annotations[nameKey], object.Status.Size = id, 1
	for _, c := range []commonv1.Condition{
		{Type: commonv1.TypeReady, Status: metav1.ConditionTrue, Reason: "Available"},
		{Type: commonv1.TypeSynced, Status: metav1.ConditionTrue, Reason: "ReconcileSuccess"},
	} {
		object.SetConditions(c)
	}
	r.Client = cached{b: object}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Reconcile(b.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			b.Fatal(err)
		}
	}
}
