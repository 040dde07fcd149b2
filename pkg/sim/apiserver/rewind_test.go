package apiserver_test

import (
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// TestRewind checks that the last writes are undone, that versions continue from the restored one, and that UIDs are
// not reused.
func TestRewind(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := bucket.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	s := apiserver.New(kinds, testingclock.NewFakePassiveClock(time.Unix(1e9, 0)))
	c := s.Client()
	newBucket := func(name string) *bucket.Bucket {
		t.Helper()
		b := &bucket.Bucket{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: bucket.Spec{Size: 1}}
		if err := c.Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}

		return b
	}
	changed, deleted := newBucket("changed"), newBucket("deleted")
	was := copied(changed)
	created := newBucket("created")
	changed.Spec.Size = 2
	if err := c.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), copied(deleted)); err != nil {
		t.Fatal(err)
	}
	seen := len(s.Changes(0))

	if by := s.Rewind(3); len(by) < 2 || by[0] != "client" {
		t.Errorf("it undoes writes of %v", by)
	}

	got := &bucket.Bucket{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(was), got); err != nil || got.Spec.Size != 1 ||
		got.ResourceVersion != was.ResourceVersion {
		t.Errorf("what was changed has size %d and version %q, not 1 and %q: %v", got.Spec.Size, got.ResourceVersion,
			was.ResourceVersion, err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(deleted), got); err != nil || got.UID != deleted.UID {
		t.Errorf("what was deleted is %q instead of %q: %v", got.UID, deleted.UID, err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(created), got); !kerrors.IsNotFound(err) {
		t.Errorf("what was created is there: %v", err)
	}
	reported := map[string]apiserver.ChangeType{}
	for _, change := range s.Changes(seen) {
		reported[change.Key.Name] = change.Type
	}
	if len(reported) != 3 || reported["changed"] != apiserver.Modified || reported["deleted"] != apiserver.Modified ||
		reported["created"] != apiserver.Deleted {
		t.Errorf("it tells of %v", reported)
	}
	again := newBucket("created")
	if again.ResourceVersion != created.ResourceVersion || again.UID == created.UID {
		t.Errorf("the next write makes %q of version %q, and made %q of version %q before", again.UID, again.ResourceVersion,
			created.UID, created.ResourceVersion)
	}

	s.Rewind(1000)

	if err := c.Get(t.Context(), client.ObjectKeyFromObject(was), got); !kerrors.IsNotFound(err) {
		t.Errorf("what there was before the first write is %v", err)
	}
}

// copied returns a copy, which has the type of its original.
func copied(b *bucket.Bucket) *bucket.Bucket { return b.DeepCopyObject().(*bucket.Bucket) }
