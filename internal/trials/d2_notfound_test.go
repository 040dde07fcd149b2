package trials

import (
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/meta"
)

// isResult reports whether a write stores the result of a creation in annotations.
func isResult(r write) bool {
	_, ended := r.annotations()["krateo.io/external-create-succeeded"]

	return r.verb == "patch" && ended
}

// TestD2ResultPatch answers the write of the result of Create once with a 404 that is not about
// the object. The resource is not deleted, and the object becomes ready.
func TestD2ResultPatch(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.answer = once(isResult, generic404(volumes, key.Name))
		w.create()
		w.run(5 * time.Minute)
		if n := w.cloud.Count("Delete"); n > 0 {
			w.Errorf("Delete was called %d times for an object that is there: %v", n, w.cloud.Calls())
		}
		w.isReady()
	})
}

// unwritable runs the story of an object whose status is never stored: its resource is not
// deleted and not created again, and each pass requeues or reports an error.
func unwritable(t *testing.T, answer error) {
	t.Helper()
	each(t, assigned, func(w *world) {
		w.answer = func(r write) error {
			if r.verb == "patch status" {
				return answer
			}

			return nil
		}
		w.create()
		silent := 0
		for range 4 {
			result, err := w.pass()
			if err == nil && result == (reconcile.Result{}) {
				silent++
			}
			wait(time.Minute)
		}
		if silent > 0 {
			w.Errorf("%d of 4 passes ended without an error and without a next look", silent)
		}
		if n := w.cloud.Count("Delete"); n > 0 {
			w.Errorf("Delete was called %d times for an object that is there: %v", n, w.cloud.Calls())
		}
		w.single()
	})
}

// TestD2StatusSubresourceMissing is about a kind whose definition lacks the subresource status:
// an API server answers each write of the status with a NotFound that names the object.
func TestD2StatusSubresourceMissing(t *testing.T) {
	unwritable(t, kerrors.NewNotFound(volumes, key.Name))
}

// TestD2StatusPatch is about a load balancer that answers each write of the status.
func TestD2StatusPatch(t *testing.T) { unwritable(t, generic404(volumes, key.Name)) }

// TestD2FinalizerPatch answers the write that removes the finalizer of a deleted object once
// with a 404 that is not about the object. The object and its resource are removed all the
// same.
func TestD2FinalizerPatch(t *testing.T) {
	each(t, classes, func(w *world) {
		w.ready()
		w.Delete(atKey())
		w.answer = once(func(r write) bool {
			metadata, _ := r.body["metadata"].(map[string]any)
			_, changes := metadata["finalizers"]

			return changes
		}, generic404(volumes, key.Name))
		w.run(10 * time.Minute)
		if v := atKey(); w.Find(v) {
			w.Errorf("the deleted object stays, with the finalizers %v and a pass that asked for no other",
				v.GetFinalizers())
		}
	})
}

// TestD2FirstPatch answers the first write for an object once with a 404 that is not about it.
// The object gets its external resource all the same.
func TestD2FirstPatch(t *testing.T) {
	each(t, classes, func(w *world) {
		w.answer = once(func(write) bool { return true }, generic404(volumes, key.Name))
		w.create()
		w.run(10 * time.Minute)
		w.isReady()
	})
}

// TestD2LiveRead is about a Create without a write before it: the live read of the object is
// answered once with a 404 that is not about the object. The object gets its external resource
// all the same.
func TestD2LiveRead(t *testing.T) {
	in(t, named, func(w *world) {
		w.ready()
		w.start()
		w.cloud.Remove(key.Name)
		asked := 0
		w.live = func() error {
			if asked++; asked == 1 {
				return generic404(volumes, key.Name)
			}

			return nil
		}
		w.run(10 * time.Minute)
		if asked == 0 {
			w.Fatal("the API server itself was not asked")
		}
		w.isReady()
	})
}

// TestD2ProviderConfig answers the write that adds the finalizer to a ProviderConfig once with
// a 404 that is not about it. It gets its finalizer all the same.
func TestD2ProviderConfig(t *testing.T) {
	k := newKeeper(t, configNamed("prod"))
	k.refuse = generic404(configs, "prod")
	for range 10 {
		result, err := k.pass("prod")
		if err == nil && result.RequeueAfter == 0 {
			break
		}
	}
	c := configNamed("prod")
	if err := k.Get(t.Context(), client.ObjectKeyFromObject(c), c); err != nil {
		t.Fatal(err)
	}
	if !meta.FinalizerExists(c, configFinalizer) {
		t.Errorf("the configuration has the finalizers %v, and a pass that asked for no other", c.GetFinalizers())
	}
}
