package managed_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A gallery is a world whose object is a snapshot: a kind that makes use of all
// that the runtime offers a kind.
type gallery struct {
	*world

	shared *connection.Cache[string] // nil: each pass connects for itself
}

func newGallery(t *testing.T, o ...managed.ReconcilerOption) gallery {
	t.Helper()
	w := newWorld(t, o...)
	w.kind = volume.SnapshotKind
	w.restart()

	return gallery{world: w}
}

// create a snapshot of 1 GiB.
func (g gallery) create(change func(*volume.Snapshot)) {
	g.Helper()
	s := &volume.Snapshot{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, UID: "uid-1", Generation: 1,
			CreationTimestamp: metav1.NewTime(g.clock.Now()),
		},
		Spec: volume.SnapshotSpec{SizeGiB: 1, Volume: "vol-0"},
	}
	if change != nil {
		change(s)
	}
	g.Create(s)
}

// change makes a user's change.
func (g gallery) change(change func(*volume.Snapshot)) {
	g.Helper()
	s := g.get()
	g.Change(s, func() {
		before := s.DeepCopyObject()
		change(s)
		// before is a copy of a Snapshot
		if !reflect.DeepEqual(before.(*volume.Snapshot).Spec, s.Spec) {
			s.Generation++ // the fake API server does not count
		}
	})
}

func (g gallery) annotate(key, value string) {
	g.Helper()
	g.change(func(s *volume.Snapshot) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, key, value) })
}

func (g gallery) delete() {
	g.Helper()
	g.Delete(g.get())
}

func (g gallery) get() *volume.Snapshot {
	g.Helper()
	s := &volume.Snapshot{}
	g.Must(g.API.Get(g.Context(), key, s))

	return s
}

// gone says whether the object is.
func (g gallery) gone() bool {
	g.Helper()

	return g.Gone(&volume.Snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
}

// condition compares a condition, given as "True/Reason".
func (g gallery) condition(t commonv1.ConditionType, want string) commonv1.Condition {
	g.Helper()
	c := g.get().GetCondition(t)
	if got := fmt.Sprintf("%s/%s", c.Status, c.Reason); got != want {
		g.Errorf("condition %s: got %s (%s), want %s", t, got, c.Message, want)
	}

	return c
}

// secret returns what the Secret of a name holds, or nil if there is none.
func (g gallery) secret(name string) *corev1.Secret {
	g.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name}}
	if !g.Find(s) {
		return nil
	}

	return s
}

// once returns a hook that does something at the first call of a name.
func (g gallery) once(call string, do func()) func(context.Context, string, resource.Managed) error {
	done := false

	return func(_ context.Context, name string, _ resource.Managed) error {
		if name == call && !done {
			done = true
			do()
		}

		return nil
	}
}

// DiskKey is that of the volume that snapshots refer to.
var diskKey = client.ObjectKey{Namespace: key.Namespace, Name: "disk"}
