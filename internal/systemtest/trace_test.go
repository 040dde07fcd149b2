package systemtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestReplaceLosesAttempt shows why the class Opaque cannot promise more than docs/guarantees.md says: if an object is
// replaced with its manifest after the intent to create was stored, and before the first status was, the API server
// returns the same object as if no provider had ever written it. Only resourceVersion differs, and the one of the
// creation is recorded nowhere.
func TestReplaceLosesAttempt(t *testing.T) {
	ns := namespace(t, api)
	manifest := func() *volume.Volume {
		return &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "data"}}
	}

	v := manifest()
	if err := api.Create(t.Context(), v, client.FieldOwner("kubectl-create")); err != nil {
		t.Fatal(err)
	}
	untouched := read(t, ns)

	intent := v
	meta.AddFinalizer(intent, managed.FinalizerName)
	meta.SetExternalCreatePending(intent, v.CreationTimestamp.Time)
	if err := api.Update(t.Context(), intent, client.FieldOwner("provider")); err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(untouched, read(t, ns)) {
		t.Fatal("the intent shows in nothing: this test compares too little")
	}

	replaced := manifest()
	replaced.ResourceVersion = intent.ResourceVersion // as kubectl replace does
	if err := api.Update(t.Context(), replaced, client.FieldOwner("kubectl-replace")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(untouched, read(t, ns)); diff != "" {
		t.Errorf("a replaced object differs from one that no provider has written (-untouched +replaced):\n%s", diff)
	}
}

// read returns the stored object without its resourceVersion.
func read(t *testing.T, namespace string) *volume.Volume {
	t.Helper()
	v := &volume.Volume{}
	if err := api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "data"}, v); err != nil {
		t.Fatal(err)
	}
	v.ResourceVersion = ""

	return v
}
