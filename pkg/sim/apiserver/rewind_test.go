package apiserver_test

import (
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
	"github.com/moorage-dev/moorage/pkg/sim/internal/berth"
)

// TestRewind: what was written last is undone, versions go on from there, and UIDs do not come again.
func TestRewind(t *testing.T) {
	kinds := runtime.NewScheme()
	if err := berth.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	s := apiserver.New(kinds, testingclock.NewFakePassiveClock(time.Unix(1e9, 0)))
	c := s.Client()
	newBerth := func(name string) *berth.Berth {
		t.Helper()
		b := &berth.Berth{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: berth.Spec{Length: 1}}
		if err := c.Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}

		return b
	}
	changed, deleted := newBerth("changed"), newBerth("deleted")
	was := copied(changed)
	created := newBerth("created")
	changed.Spec.Length = 2
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

	got := &berth.Berth{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(was), got); err != nil || got.Spec.Length != 1 || got.ResourceVersion != was.ResourceVersion {
		t.Errorf("what was changed has length %d and version %q, not 1 and %q: %v", got.Spec.Length, got.ResourceVersion, was.ResourceVersion, err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(deleted), got); err != nil || got.UID != deleted.UID {
		t.Errorf("what was deleted is %q instead of %q: %v", got.UID, deleted.UID, err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(created), got); !kerrors.IsNotFound(err) {
		t.Errorf("what was created is there: %v", err)
	}
	told := map[string]apiserver.ChangeType{}
	for _, change := range s.Changes(seen) {
		told[change.Key.Name] = change.Type
	}
	if len(told) != 3 || told["changed"] != apiserver.Modified || told["deleted"] != apiserver.Modified || told["created"] != apiserver.Deleted {
		t.Errorf("it tells of %v", told)
	}
	again := newBerth("created")
	if again.ResourceVersion != created.ResourceVersion || again.UID == created.UID {
		t.Errorf("the next write makes %q of version %q, and made %q of version %q before", again.UID, again.ResourceVersion, created.UID, created.ResourceVersion)
	}

	s.Rewind(1000)

	if err := c.Get(t.Context(), client.ObjectKeyFromObject(was), got); !kerrors.IsNotFound(err) {
		t.Errorf("what there was before the first write is %v", err)
	}
}

// copied returns a copy, which has the type of its original.
func copied(b *berth.Berth) *berth.Berth { return b.DeepCopyObject().(*berth.Berth) } //nolint:forcetypeassert // see above
