package managed_test

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A stamping client says that everything belongs to another object, and which stamp it bears.
type stamping struct {
	managed.ExternalClient

	stamp managed.Stamp
}

func (s stamping) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	o, err := s.ExternalClient.Observe(ctx, mg)
	o.Owner, o.OwnerStamp = managed.OwnerOther, s.stamp

	return o, err
}

// TestForceWithoutANamespace verifies that a cluster-scoped object takes over by force only a resource of an object
// of its own kind and name, unless the operator allows more.
func TestForceWithoutANamespace(t *testing.T) {
	volumes := volume.GroupVersion.WithKind("Volume").GroupKind()
	stamp := func(kind, namespace, name string) managed.Stamp {
		return managed.NewStamp("before", schema.GroupKind{Group: volumes.Group, Kind: kind},
			&volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "before"}})
	}
	own := []string{`"force"`, "same kind and name"}
	anything := []managed.ReconcilerOption{managed.WithAllowedAdoptionPolicies(meta.AdoptionPolicyForce)}
	for name, tc := range map[string]struct {
		stamp   managed.Stamp
		options []managed.ReconcilerOption
		want    string
		says    []string
	}{
		"the same kind and name":       {stamp("Volume", "", "data"), nil, "ReconcileSuccess", nil},
		"another kind":                 {stamp("Snapshot", "", "data"), nil, "AdoptionNotAllowed", own},
		"another name":                 {stamp("Volume", "", "other"), nil, "AdoptionNotAllowed", own},
		"a namespace":                  {stamp("Volume", "default", "data"), nil, "AdoptionNotAllowed", own},
		"no mark":                      {"", nil, "AdoptionNotAllowed", own},
		"a mark that is no stamp":      {"vol-owner", nil, "AdoptionNotAllowed", own},
		"another name, allowed":        {stamp("Volume", "", "other"), anything, "ReconcileSuccess", nil},
		"a mark that is none, allowed": {"vol-owner", anything, "ReconcileSuccess", nil},
		"the same, but force is refused": {stamp("Volume", "", "data"),
			[]managed.ReconcilerOption{managed.WithAllowedAdoptionPolicies()}, "AdoptionNotAllowed",
			[]string{"not allowed by this provider"}},
	} {
		t.Run(name, func(t *testing.T) {
			size, synced := forced(t, tc.stamp, tc.options...)
			if synced.Reason != commonv1.ConditionReason(tc.want) || (size == 1) != (tc.want == "ReconcileSuccess") {
				t.Errorf("%d GiB, want %s: %s: %s", size, tc.want, synced.Reason, synced.Message)
			}
			for _, says := range tc.says {
				if !strings.Contains(synced.Message, says) {
					t.Errorf("%q does not say %q", synced.Message, says)
				}
			}
		})
	}
}

// forced makes a pass over a cluster-scoped object that is to take a disk of another's by
// force, and returns how large the disk is then, and what the object says.
func forced(t *testing.T, found managed.Stamp, o ...managed.ReconcilerOption) (size int64, synced commonv1.Condition) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := volume.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	v := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Name: "data", UID: "now"}, Spec: volume.Spec{SizeGiB: 1}}
	meta.AddAnnotations(v, map[string]string{
		meta.AnnotationKeyExternalName:   "vol-9",
		meta.AnnotationKeyAdoptionPolicy: meta.AdoptionPolicyForce,
	})
	api := ctrlfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(v).WithObjects(v).Build()
	cloud := &volume.Cloud{}
	cloud.Put(volume.Disk{ID: "vol-9", SizeGiB: 7})
	connect := func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
		c, err := cloud.Connect(ctx, mg)

		return stamping{c, found}, err
	}
	r := managed.NewReconciler(&fake.Manager{Client: api, Scheme: scheme}, volume.Kind,
		append(o, managed.WithExternalConnecter(managed.ExternalConnectorFn(connect)))...)
	at := client.ObjectKeyFromObject(v)
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: at}); err != nil {
		t.Fatal(err)
	}
	if err := api.Get(t.Context(), at, v); err != nil {
		t.Fatal(err)
	}

	return cloud.Disks()[0].SizeGiB, v.GetCondition(commonv1.TypeSynced)
}
