package stories

import (
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// Finalizer checks a finalizer of package resource on real objects. It delays the removal of an object, and removing it
// does not remove other finalizers. Unit tests check the same on a mock.
func Finalizer(t *testing.T, at Place) {
	t.Helper()
	p, _ := at(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	v := NewVolume(p.Namespace, "kept")
	v.Finalizers = []string{"example.com/theirs"}
	must(p.API.Create(t.Context(), v))
	stale := v.DeepCopyObject().(client.Object) // a copy of a volume
	f := resource.NewAPIFinalizer(p.API, "example.com/ours")
	must(f.AddFinalizer(t.Context(), v))
	version := v.ResourceVersion
	must(f.AddFinalizer(t.Context(), v)) // again, without effect
	if v.ResourceVersion != version || len(v.Finalizers) != 2 {
		t.Errorf("version %s after %s, finalizers %v", v.ResourceVersion, version, v.Finalizers)
	}
	stale.SetLabels(map[string]string{"late": "yes"})
	if err := p.API.Update(t.Context(), stale); !kerrors.IsConflict(err) {
		t.Errorf("a stale update is answered with %v", err)
	}
	must(p.API.Delete(t.Context(), v))
	must(p.API.Get(t.Context(), client.ObjectKeyFromObject(v), v))
	if v.DeletionTimestamp == nil || v.Generation != 2 {
		t.Errorf("deleted at %v, generation %d", v.DeletionTimestamp, v.Generation)
	}
	must(f.RemoveFinalizer(t.Context(), v))
	must(p.API.Get(t.Context(), client.ObjectKeyFromObject(v), v))
	must(p.API.Patch(t.Context(), v, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	if err := p.API.Get(t.Context(), client.ObjectKeyFromObject(v), v); !kerrors.IsNotFound(err) {
		t.Errorf("after the last finalizer: %v", err)
	}
}
