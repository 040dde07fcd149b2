package apiserver_test

import (
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// TestDryRun checks that a dry run is checked as the write is, and stores nothing.
func TestDryRun(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := bucket.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	s := apiserver.New(kinds, testingclock.NewFakePassiveClock(time.Unix(1e9, 0)))
	c, named := s.Client(), metav1.ObjectMeta{Namespace: "default", Name: "first"}
	key := types.NamespacedName{Namespace: "default", Name: "first"}
	patch := func(uid types.UID) error {
		body := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"uid":"`+string(uid)+`"},"spec":{"size":4}}`))

		return c.Patch(t.Context(), &bucket.Bucket{ObjectMeta: named}, body, client.DryRunAll)
	}
	if err := c.Create(t.Context(), &bucket.Bucket{ObjectMeta: named, Spec: bucket.Spec{Size: 3}},
		client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if err := patch("1"); !kerrors.IsNotFound(err) || s.Stored(bucket.GroupVersion.WithKind("Bucket"), key) != nil ||
		len(s.Changes(0)) != 0 {
		t.Fatalf("a dry run of a creation has stored something: %v", err)
	}
	stored := &bucket.Bucket{ObjectMeta: named, Spec: bucket.Spec{Size: 3}}
	if err := c.Create(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), &bucket.Bucket{ObjectMeta: named}, client.DryRunAll); !kerrors.IsAlreadyExists(err) {
		t.Errorf("the name is taken, and a dry run says %v", err)
	}
	if err := patch("another"); err == nil {
		t.Error("a dry run changes the UID of an object")
	}
	if err := patch(stored.UID); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"update": c.Update(t.Context(), stored, client.DryRunAll), "delete": c.Delete(t.Context(), stored, client.DryRunAll),
	} {
		if err == nil {
			t.Errorf("%s: a dry run that is not simulated succeeds", what)
		}
	}
	now := &bucket.Bucket{}
	if err := c.Get(t.Context(), key, now); err != nil || now.Spec.Size != 3 ||
		now.ResourceVersion != stored.ResourceVersion || len(s.Changes(0)) != 1 {
		t.Errorf("a dry run of a change has stored something: %v, %v", now, err)
	}
}
