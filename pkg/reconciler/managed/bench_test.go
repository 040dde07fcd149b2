package managed_test

import (
	"context"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A cached client answers from memory, as a manager's client does.
type cached struct {
	client.Client

	v *volume.Volume
}

func (c cached) Get(_ context.Context, _ client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	hand(c.v, o, opts)

	return nil
}

// BenchmarkSteadyPass measures the pass that finds nothing to do, the most common one.
func BenchmarkSteadyPass(b *testing.B) {
	pass := steady(b)
	b.ReportAllocs()
	for b.Loop() {
		pass()
	}
}

// TestSteadyPassAllocates verifies that the allocations of a steady pass, including the cache, are bounded. The
// restore detector adds none.
func TestSteadyPassAllocates(t *testing.T) {
	const bound = 23
	got := testing.AllocsPerRun(100, steady(t))
	if got > bound {
		t.Errorf("%.0f allocations, want at most %d", got, bound)
	}
	if ready := testing.AllocsPerRun(100, steady(t,
		managed.WithRestoreDetector(controller.NewRestoreDetector()))); ready > got {
		t.Errorf("%.0f allocations with a detector of restores, %.0f without", ready, got)
	}
}

// steady returns a pass over a volume with which all is well.
func steady(t testing.TB, o ...managed.ReconcilerOption) func() {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := volume.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	v := settled(t, scheme)
	connect := func(context.Context, resource.Managed) (managed.ExternalClient, error) {
		return managed.ExternalClientFns{ObserveFn: func(_ context.Context,
			mg resource.Managed) (managed.ExternalObservation, error) {
			mg.SetConditions(v.GetCondition("Ready"))

			return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
		}}, nil
	}
	r := managed.NewReconciler(&fake.Manager{Client: cached{v: v}, Scheme: scheme}, volume.Kind,
		append([]managed.ReconcilerOption{managed.WithExternalConnecter(managed.ExternalConnectorFn(connect))},
			o...)...)

	return func() {
		if _, err := r.Reconcile(t.Context(), request()); err != nil {
			t.Fatal(err)
		}
	}
}

// A departing volume is in the cache until its last finalizer is removed.
type departing struct {
	client.Client

	v    *volume.Volume
	gone bool
}

func (c *departing) Get(_ context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if c.gone {
		return kerrors.NewNotFound(schema.GroupResource{Resource: "volumes"}, key.Name)
	}
	hand(c.v, o, opts)

	return nil
}

func (c *departing) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	c.gone = len(o.GetFinalizers()) == 0
	o.SetResourceVersion("2")

	return nil
}

// BenchmarkDeletion measures a deletion: the pass that deletes and observes, and the one that finds the resource
// gone.
func BenchmarkDeletion(b *testing.B) {
	scheme := runtime.NewScheme()
	if err := volume.AddToScheme(scheme); err != nil {
		b.Fatal(err)
	}
	c := &departing{v: settled(b, scheme)}
	c.v.DeletionTimestamp = &metav1.Time{Time: c.v.GetCondition("Ready").LastTransitionTime.Time}
	exists := true
	connect := func(context.Context, resource.Managed) (managed.ExternalClient, error) {
		return managed.ExternalClientFns{
			ObserveFn: func(context.Context, resource.Managed) (managed.ExternalObservation, error) {
				return managed.ExternalObservation{ResourceExists: exists, ResourceUpToDate: true}, nil
			},
			DeleteFn: func(context.Context, resource.Managed) error { exists = false; return nil },
		}, nil
	}
	r := managed.NewReconciler(&fake.Manager{Client: c, Scheme: scheme}, volume.Kind,
		managed.WithExternalConnecter(managed.ExternalConnectorFn(connect)), managed.WithCreationGracePeriod(0))
	b.ReportAllocs()
	for b.Loop() {
		exists, c.gone = true, false
		for range 2 {
			if _, err := r.Reconcile(b.Context(), request()); err != nil {
				b.Fatal(err)
			}
		}
		if exists || !c.gone {
			b.Fatal("it is still there")
		}
	}
}

// settled returns a volume as it is when all is well.
func settled(t testing.TB, scheme *runtime.Scheme) *volume.Volume {
	t.Helper()
	v := &volume.Volume{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, UID: "uid-1", ResourceVersion: "1", Generation: 1,
	}, Spec: volume.Spec{SizeGiB: 1}}
	api := ctrlfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(v).WithObjects(v).Build()
	r := managed.NewReconciler(&fake.Manager{Client: api, Scheme: scheme}, volume.Kind,
		managed.WithExternalConnecter(&volume.Cloud{}))
	if _, err := r.Reconcile(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	if err := api.Get(t.Context(), key, v); err != nil {
		t.Fatal(err)
	}

	return v
}
