package trials

import (
	"maps"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// drops returns an admission that drops annotations, and finalizers if set, from a stored
// object, and answers with success.
func drops(annotation func(key string) bool, finalizers bool) func(map[string]any) {
	return func(body map[string]any) {
		metadata, _ := body["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		maps.DeleteFunc(annotations, func(key string, _ any) bool { return annotation(key) })
		if finalizers {
			delete(metadata, "finalizers")
		}
	}
}

func every(string) bool { return true }
func none(string) bool  { return false }

// notStored checks that an object whose marks are not stored has no external resource, and
// names the dropped keys in its status.
func (w *world) notStored(missing string) {
	w.Helper()
	if n := w.cloud.Count("Create"); n > 0 {
		w.Errorf("Create was called %d times although what precedes it was not stored; there are %s", n,
			ids(w.cloud.Disks()))
	}
	c := w.get().GetCondition(commonv1.TypeSynced)
	if c.Status != metav1.ConditionFalse || c.Reason != "MarksNotStored" || !strings.Contains(c.Message, missing) {
		w.Errorf("want Synced False (MarksNotStored), naming %s, got %s (%s): %s", missing, c.Status, c.Reason,
			c.Message)
	}
}

// TestD5AllAnnotationsDropped is about an admission that drops all annotations of the runtime.
func TestD5AllAnnotationsDropped(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.admit = drops(every, true)
		w.create()
		for range 5 {
			_, _ = w.pass() // an error requeues the object
			wait(time.Minute)
		}
		w.notStored("krateo.io/external-create-pending")
	})
}

// TestD5FinalizersDropped is about an admission that drops the finalizer.
func TestD5FinalizersDropped(t *testing.T) {
	each(t, classes, func(w *world) {
		w.admit = drops(none, true)
		w.create()
		for range 5 {
			_, _ = w.pass() // an error requeues the object
			wait(time.Minute)
		}
		w.notStored(managed.FinalizerName)
	})
}

// TestD5OwnKeysDropped is about an allow-list for the predecessor, which drops the keys of
// moorage.dev. A lost answer of Create leads to no second resource all the same, and Create is
// never called without a token.
func TestD5OwnKeysDropped(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.admit = drops(func(key string) bool { return strings.HasPrefix(key, "moorage.dev/") }, false)
		w.loseCreate(func() {})
		w.create()
		w.run(10 * time.Minute)
		if disks := w.cloud.Disks(); len(disks) > 1 {
			w.Errorf("there are the external resources %s", ids(disks))
		}
		for _, d := range w.cloud.Disks() {
			if d.Token == "" {
				w.Errorf("%s was created without a token", d.ID)
			}
		}
		if !w.reported() {
			w.Error("nothing reports that annotations are dropped")
		}
	})
}
