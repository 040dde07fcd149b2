package managed_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A cached client answers from memory, as a manager's client does.
type cached struct {
	client.Client

	v *volume.Volume
}

func (c cached) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	*o.(*volume.Volume) = *c.v.DeepCopyObject().(*volume.Volume)

	return nil
}

// A pass that finds all as it was: what a provider does most of the time.
func BenchmarkSteadyPass(b *testing.B) {
	scheme := runtime.NewScheme()
	if err := volume.AddToScheme(scheme); err != nil {
		b.Fatal(err)
	}
	v := settled(b, scheme)
	r := managed.NewReconciler(&fake.Manager{Client: cached{v: v}, Scheme: scheme}, volume.Kind,
		managed.WithExternalConnecter(managed.ExternalConnectorFn(
			func(context.Context, resource.Managed) (managed.ExternalClient, error) {
				return managed.ExternalClientFns{ObserveFn: func(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
					mg.SetConditions(v.GetCondition("Ready"))

					return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true}, nil
				}}, nil
			})))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Reconcile(b.Context(), request()); err != nil {
			b.Fatal(err)
		}
	}
}

// Settled returns a volume as it is when all is well.
func settled(b *testing.B, scheme *runtime.Scheme) *volume.Volume {
	b.Helper()
	v := &volume.Volume{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, UID: "uid-1", ResourceVersion: "1", Generation: 1,
	}, Spec: volume.Spec{SizeGiB: 1}}
	api := ctrlfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(v).WithObjects(v).Build()
	r := managed.NewReconciler(&fake.Manager{Client: api, Scheme: scheme}, volume.Kind, managed.WithExternalConnecter(&volume.Cloud{}))
	if _, err := r.Reconcile(b.Context(), request()); err != nil {
		b.Fatal(err)
	}
	if err := api.Get(b.Context(), key, v); err != nil {
		b.Fatal(err)
	}

	return v
}
