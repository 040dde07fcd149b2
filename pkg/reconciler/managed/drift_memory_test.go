package managed_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A plainObject is of a kind without status.drift.
type plainObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status struct {
		commonv1.ConditionedStatus `json:",inline"`
	} `json:"status,omitempty"`
}

func (o *plainObject) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return o.Status.GetCondition(t)
}

func (o *plainObject) SetConditions(c ...commonv1.Condition) { o.Status.SetConditions(c...) }

func (o *plainObject) DeepCopyObject() kruntime.Object {
	out := *o
	o.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	o.Status.ConditionedStatus.DeepCopyInto(&out.Status.ConditionedStatus)

	return &out
}

// A driftingObject is of the same kind with status.drift.
type driftingObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status struct {
		commonv1.ConditionedStatus `json:",inline"`
		commonv1.DriftStatus       `json:",inline"`
	} `json:"status,omitempty"`
}

func (o *driftingObject) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return o.Status.GetCondition(t)
}

func (o *driftingObject) SetConditions(c ...commonv1.Condition) { o.Status.SetConditions(c...) }
func (o *driftingObject) GetDrift() *commonv1.Drift             { return o.Status.Drift }
func (o *driftingObject) SetDrift(d *commonv1.Drift)            { o.Status.SetDrift(d) }

func (o *driftingObject) DeepCopyObject() kruntime.Object {
	out := *o
	o.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	o.Status.ConditionedStatus.DeepCopyInto(&out.Status.ConditionedStatus)
	o.Status.DriftStatus.DeepCopyInto(&out.Status.DriftStatus)

	return &out
}

// quietMemory returns how many bytes an object takes, together with what the reconciler remembers of it, once it has
// differed in several fields and is as desired again.
func quietMemory(t *testing.T, of resource.Managed, differences []commonv1.Difference) float64 {
	t.Helper()
	const objects = 2000
	differs, drifts := true, 0
	connect := func(context.Context, resource.Managed) (managed.ExternalClient, error) {
		return managed.ExternalClientFns{ObserveFn: func(_ context.Context,
			mg resource.Managed) (managed.ExternalObservation, error) {
			mg.SetConditions(commonv1.Available())
			o := managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: !differs}
			if differs {
				o.Differences = differences
			}

			return o, nil
		}}, nil
	}
	server := newMemoryServer()
	m := &fake.Manager{Client: server, Scheme: fake.SchemeWith(of)}
	r := managed.NewReconciler(m, resource.ManagedKind(fake.GVK(of)),
		managed.WithCluster(reader{m, server}), managed.WithMetricsRegisterer(prometheus.NewRegistry()),
		managed.WithExternalConnecter(managed.ExternalConnectorFn(connect)))
	pass := func(visit func(resource.Managed)) {
		for i := range objects {
			key := client.ObjectKey{Namespace: "apps", Name: fmt.Sprintf("object-%d", i)}
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
				t.Fatal(err)
			}
			visit(server.get(key))
		}
	}
	count := func(mg resource.Managed) {
		if r, ok := mg.(resource.DriftReporter); ok && len(r.GetDrift().Fields) == len(differences) {
			drifts++
		}
	}
	before := heapInUse()
	for i := range objects {
		mg := of.DeepCopyObject().(resource.Managed) // a copy of an object is one
		mg.SetNamespace("apps")
		mg.SetName(fmt.Sprintf("object-%d", i))
		mg.SetUID(types.UID(fmt.Sprintf("uid-%d", i)))
		mg.SetGeneration(1)
		meta.AddAnnotations(mg, map[string]string{
			meta.AnnotationKeyManagementPolicy: meta.ManagementPolicyObserve,
		})
		server.put(mg)
	}
	pass(count)
	if _, ok := of.(resource.DriftReporter); ok && drifts != objects {
		t.Errorf("%d objects have shown their differences", drifts)
	}
	differs = false
	pass(func(resource.Managed) {})
	pass(func(mg resource.Managed) {
		if c := mg.GetCondition(commonv1.TypeUpToDate); c.Status != metav1.ConditionTrue {
			t.Errorf("%s is not as desired: %+v", mg.GetName(), c)
		}
	})
	per := float64(heapInUse()-before) / objects
	runtime.KeepAlive(r)
	runtime.KeepAlive(server)

	return per
}

// heapInUse returns the bytes in use after a collection.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)

	return m.HeapAlloc
}

// TestQuietObjectsTakeNoMoreMemory verifies that an object of a kind with status.drift takes at most 48 bytes more
// than one without, while its external resource is as desired. That is a pointer, and what the allocator adds.
func TestQuietObjectsTakeNoMoreMemory(t *testing.T) {
	differences := make([]commonv1.Difference, 8)
	for i := range differences {
		differences[i] = commonv1.Difference{Path: fmt.Sprintf("field%d", i), Desired: `"desired"`, Observed: `"observed"`}
	}
	var more float64
	for range 3 { // something else in the process may have grown meanwhile
		plain := quietMemory(t, &plainObject{}, nil)
		drifting := quietMemory(t, &driftingObject{}, differences)
		t.Logf("%.0f bytes for each object without status.drift, %.0f with it", plain, drifting)
		if more = drifting - plain; more <= 48 {
			return
		}
	}
	t.Errorf("an object takes %.0f bytes more", more)
}
