package apiserver_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// TestMemory checks that servers with a shared memory answer as servers without one, for any requests.
func TestMemory(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := bucket.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	memory := apiserver.NewMemory(kinds)
	now := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
	for seed := range uint64(400) {
		learned, fresh := memory.Server(now), apiserver.New(kinds, now)
		if seed%7 == 0 {
			for _, s := range []*apiserver.Server{learned, fresh} {
				if err := s.Drop(bucket.GroupVersion.WithKind("Bucket"), "spec.parent"); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range []*apiserver.Server{learned, fresh} {
			s.Ignore([]string{"", "annotations", "finalizers", "status"}[seed/20%4])
		}
		one := &side{c: learned.Client(), ns: "default", name: "first"}
		other := &side{c: fresh.Client(), ns: "default", name: "first"}
		for i := range uint64(16) {
			r := rand.New(rand.NewPCG(seed%20, i))
			if i > 8 {
				r = rand.New(rand.NewPCG(seed, i))
			}
			op := randomOperation(r, []string{"create", ""}[min(i, 1)], seed%3 == 0)
			if diff := cmp.Diff(op.do(t.Context(), other), op.do(t.Context(), one)); diff != "" {
				t.Fatalf("seed %d: %s is answered otherwise (-alone +learned):\n%s", seed, op, diff)
			}
		}
		want, got := fresh.Changes(0), learned.Changes(0)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(apiserver.Change{})); diff != "" {
			t.Fatalf("seed %d: other changes (-alone +learned):\n%s", seed, diff)
		}
	}
}

// TestMemoryOfOwners checks that a manager that applies an existing value becomes an owner on its server, and on no
// other.
func TestMemoryOfOwners(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := bucket.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	memory := apiserver.NewMemory(kinds)
	now := testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
	apply := func(c *apiserver.Client, owner, spec string) error {
		b := &bucket.Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first"}}
		patch := `{"apiVersion":"` + bucket.GroupVersion.String() +
			`","kind":"Bucket","metadata":{"name":"first","namespace":"default"},"spec":` + spec + `}`

		return c.Patch(t.Context(), b, client.RawPatch(types.ApplyPatchType, []byte(patch)), client.FieldOwner(owner))
	}
	one, other := memory.Server(now).Client(), memory.Server(now).Client()
	for _, c := range []*apiserver.Client{one, other} {
		b := &bucket.Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first"}, Spec: bucket.Spec{Size: 3}}
		if err := c.As("anna").Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	if err := apply(one, "ben", `{"size":3}`); err != nil {
		t.Fatal(err)
	}
	for c, owners := range map[*apiserver.Client][]string{one: {`conflict with "anna"`, `conflict with "ben"`},
		other: {`conflict with "anna"`}} {
		var status kerrors.APIStatus
		if !errors.As(apply(c, "carl", `{"size":4}`), &status) {
			t.Fatal("carl may change what anna has")
		}
		var reported []string
		for _, cause := range status.Status().Details.Causes {
			reported = append(reported, cause.Message)
		}
		slices.Sort(reported)
		if diff := cmp.Diff(owners, reported); diff != "" {
			t.Errorf("others own it (-want +got):\n%s", diff)
		}
	}
}

// TestIgnore checks that a write to an ignored part of an object does not store what it adds, and does remove what it
// takes away. Other parts are stored.
func TestIgnore(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := bucket.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	for part, want := range map[string][2]int{"": {2, 2}, "annotations": {1, 2}, "finalizers": {2, 1}, "status": {2, 2}} {
		s := apiserver.New(kinds, testingclock.NewFakePassiveClock(time.Unix(1e9, 0)))
		b := &bucket.Bucket{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "first", Annotations: map[string]string{"stays": "1", "goes": "1"},
			Finalizers: []string{"a/stays", "a/goes"},
		}}
		if err := s.Client().Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		s.Ignore(part)
		b.Annotations, b.Finalizers = map[string]string{"stays": "2", "new": "2"}, []string{"a/stays", "a/new"}
		if err := s.Client().Update(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if got := [2]int{len(b.Annotations), len(b.Finalizers)}; got != want ||
			(b.Annotations["stays"] == "1") != (part == "annotations") {
			t.Errorf("%q is ignored: %v annotations and %v finalizers are stored", part, b.Annotations, b.Finalizers)
		}
		b.Status.ID = "one"
		if err := s.Client().Status().Update(t.Context(), b); err != nil || (b.Status.ID == "") != (part == "status") {
			t.Errorf("%q is ignored: the status is %+v, %v", part, b.Status, err)
		}
		s.Ignore("")
		b.Status.ID = "two"
		if err := s.Client().Status().Update(t.Context(), b); err != nil || b.Status.ID != "two" {
			t.Errorf("%q is not ignored any more: the status is %+v, %v", part, b.Status, err)
		}
		b.Annotations = map[string]string{"new": "3"}
		if err := s.Client().Update(t.Context(), b); err != nil || b.Annotations["new"] != "3" {
			t.Errorf("%q is not ignored any more: %v, %v", part, b.Annotations, err)
		}
	}
}
