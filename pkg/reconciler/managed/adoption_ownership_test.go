package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// owned makes a world whose cloud knows an owner for each disk.
func owned(t *testing.T, owner *managed.Owner) *world {
	t.Helper()
	w := newWorld(t, managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return owning{c, owner} })

	return w
}

// An owning client reports an existing resource as taken, and stamps what it creates or updates.
type owning struct {
	managed.ExternalClient

	owner *managed.Owner
}

func (o owning) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	seen, err := o.ExternalClient.Observe(ctx, mg)
	seen.Owner = *o.owner
	if *o.owner == managed.OwnerNone {
		seen.ResourceUpToDate = false // the stamp is missing
	}

	return seen, err
}

func (o owning) Update(ctx context.Context, mg resource.Managed) error {
	*o.owner = managed.OwnerOurs

	return o.ExternalClient.Update(ctx, mg)
}

func TestResourcesOfOtherOwnersAreLeftAlone(t *testing.T) {
	for _, owner := range []managed.Owner{managed.OwnerOther, managed.OwnerNone} {
		t.Run(owner.String(), func(t *testing.T) {
			w := owned(t, &owner)
			w.cloud.Put(volume.Disk{ID: key.Name, SizeGiB: 99})
			w.create(nil)
			for range 3 {
				if got := w.pass().RequeueAfter; got != time.Minute {
					t.Errorf("next pass after %s, want the poll interval", got)
				}
			}
			w.expect(status, "Connect Observe Connect Observe Connect Observe", "Warning/ExternalResourceNotOwned")
			w.condition("Synced", "False/ExternalResourceNotOwned")
			w.condition("Ready", "False/Unavailable")
			if w.get().Finalizers != nil {
				t.Error("an object that owns nothing is held")
			}
			w.delete()
			w.pass()
			if !w.gone() || len(w.cloud.Disks()) != 1 || w.cloud.Disks()[0].SizeGiB != 99 {
				t.Errorf("gone %t, disks %v", w.gone(), w.cloud.Disks())
			}
		})
	}
}

func TestARaceForANameIsLost(t *testing.T) {
	owner := managed.OwnerOther
	w := owned(t, &owner)
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call != "Create" {
			return nil
		}
		w.cloud.Put(volume.Disk{ID: key.Name, SizeGiB: 99})

		return external.AlreadyExists(errors.New("name is taken"))
	}
	w.create(nil)
	w.pass()
	w.expect("patch, patch status", "Connect Observe Create Observe", "Warning/ExternalResourceNotOwned")
	w.condition("Synced", "False/ExternalResourceNotOwned")
	w.delete()
	w.pass()
	w.expect("patch", "Connect Observe", "Normal/ExternalResourceNotOwned")
	if !w.gone() || len(w.cloud.Disks()) != 1 {
		t.Errorf("gone %t, disks %v: the finalizer goes and the resource stays", w.gone(), w.cloud.Disks())
	}
}

func TestUnownedResourcesAreAdoptedByPolicy(t *testing.T) {
	owner := managed.OwnerNone
	w := owned(t, &owner)
	w.cloud.Put(volume.Disk{ID: key.Name, SizeGiB: 99})
	w.create(func(v *volume.Volume) {
		v.Annotations = map[string]string{meta.AnnotationKeyAdoptionPolicy: meta.AdoptionPolicyIfUnowned}
	})
	w.pass()
	w.expect("patch, patch status", "Connect Observe Update Observe", "Normal/UpdatedExternalResource")
	w.condition("Ready", "True/Available")
	v := w.get()
	if !meta.FinalizerExists(v, managed.FinalizerName) || meta.GetExternalCreateSucceeded(v).IsZero() {
		t.Errorf("the adoption is not marked: %v %v", v.Finalizers, v.Annotations)
	}

	owner = managed.OwnerNone // another writer removes the stamp
	w.change(func(v *volume.Volume) { delete(v.Annotations, meta.AnnotationKeyAdoptionPolicy) })
	w.pass()
	if owner != managed.OwnerOurs {
		t.Error("what was adopted once is not claimed any more")
	}
}

func TestAnExistingResourceIsTakenOverIfTheSystemKnowsNoOwners(t *testing.T) {
	w := newWorld(t)
	w.cloud.Put(volume.Disk{ID: "vol-77", SizeGiB: 1})
	w.create(func(v *volume.Volume) { meta.SetExternalName(v, "vol-77") })
	w.pass()
	w.expect("patch, patch status", "Connect Observe", "")
	w.condition("Ready", "True/Available")
}

func TestStamps(t *testing.T) {
	v := &volume.Volume{}
	v.Namespace, v.Name, v.UID = "ns", "data", "uid-1"
	kind := schema.GroupKind{Group: "example.org", Kind: "Volume"}
	mine := managed.NewStamp("cluster-1", kind, v)
	cases := map[string]struct {
		found string
		want  managed.Owner
	}{
		"Ours":         {string(mine), managed.OwnerOurs},
		"None":         {"", managed.OwnerNone},
		"OtherCluster": {string(managed.NewStamp("cluster-2", kind, v)), managed.OwnerOther},
		"OtherKind": {string(managed.NewStamp("cluster-1",
			schema.GroupKind{Group: "example.org", Kind: "Bucket"}, v)), managed.OwnerOther},
		"Garbage":        {"x", managed.OwnerOther},
		"OtherNamespace": {strings.Replace(string(mine), "/ns/", "/other/", 1), managed.OwnerOther},
	}
	for name, tc := range cases {
		if got := mine.Owner(tc.found); got != tc.want {
			t.Errorf("%s: Owner(%q) = %s, want %s", name, tc.found, got, tc.want)
		}
	}
	again := v.DeepCopyObject().(*volume.Volume) // a copy of a volume
	again.UID = "uid-2"
	if got := managed.NewStamp("cluster-1", kind, again).Owner(string(mine)); got != managed.OwnerOther {
		t.Errorf("an object created anew under an old name inherits: %s", got)
	}
}
