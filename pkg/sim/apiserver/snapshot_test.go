package apiserver_test

import (
	"fmt"
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

// TestSnapshot checks that a server goes on from where it, or another, once was, as if nothing had happened since; and
// a snapshot stays the same however often a server is restored from it.
func TestSnapshot(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := bucket.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	memory, now := apiserver.NewMemory(kinds), testingclock.NewFakePassiveClock(time.Unix(1e9, 0))
	first := memory.Server(now)
	create := func(s *apiserver.Server, name string) *bucket.Bucket {
		t.Helper()
		b := &bucket.Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		if err := s.Client().Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}

		return b
	}
	kept := create(first, "kept")
	then := first.Snapshot()
	later := create(first, "later")
	// a copy of a Bucket is one
	if err := first.Client().Delete(t.Context(), kept.DeepCopyObject().(*bucket.Bucket)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, s := range []*apiserver.Server{memory.Server(now), first} {
			s.Restore(then)
			got := &bucket.Bucket{}
			if err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(kept), got); err != nil ||
				got.GetResourceVersion() != kept.GetResourceVersion() {
				t.Errorf("what was there is at version %q instead of %q: %v", got.GetResourceVersion(), kept.GetResourceVersion(),
					err)
			}
			if err := s.Client().Get(t.Context(), client.ObjectKeyFromObject(later),
				&bucket.Bucket{}); !kerrors.IsNotFound(err) {
				t.Errorf("what came later is there: %v", err)
			}
			if n := len(s.Changes(0)); n != 1 {
				t.Errorf("there were %d changes", n)
			}
			if again := create(s, "later"); again.GetUID() != later.GetUID() ||
				again.GetResourceVersion() != later.GetResourceVersion() {
				t.Errorf("what is created next is %s of version %s instead of %s of version %s", again.GetUID(),
					again.GetResourceVersion(), later.GetUID(), later.GetResourceVersion())
			}
		}
	}
}

// TestSkip checks that a caller that skips the creation of an object gets the UID of that object, and that the next
// object has another UID.
func TestSkip(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := bucket.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	s := apiserver.New(kinds, testingclock.NewFakePassiveClock(time.Unix(1e9, 0)))
	then := s.Snapshot()
	skipped := []types.UID{s.Skip(), s.Skip()}
	s.Restore(then)
	for i, uid := range skipped {
		b := &bucket.Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(i)}}
		if err := s.Client().Create(t.Context(), b); err != nil || b.GetUID() != uid {
			t.Errorf("object %d is %s, and who skipped it was told %s: %v", i, b.GetUID(), uid, err)
		}
	}
}
