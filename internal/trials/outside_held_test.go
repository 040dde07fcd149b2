package trials

import (
	"context"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestOutsideAnotherAccount connects to another account, or to one that the client cannot name:
// nothing is created there, and the object reports it.
func TestOutsideAnotherAccount(t *testing.T) {
	each(t, classes, func(w *world) {
		for identity, reason := range map[string]commonv1.ConditionReason{"west": "BackendChanged",
			"": "ReconcileError"} {
			story := w.again()
			story.cloud.Account = "east"
			story.ready()
			story.cloud.Account = identity
			story.cloud.Hidden = func(string) bool { return true }
			story.run(10 * time.Minute)
			story.says(reason, "east")
			if n := story.cloud.Count("Create"); n != 1 {
				w.Errorf("in account %q Create was called %d times", identity, n-1)
			}
		}
	})
}

// TestOutsideOnRequestReplaced removes the annotations by a replace at the moment at which the
// resource is lost, and the process may end: nothing is created without a request.
func TestOutsideOnRequestReplaced(t *testing.T) {
	each(t, assigned, func(w *world) {
		for _, ends := range []bool{false, true} {
			story := w.again()
			story.onRequest()
			story.ready()
			story.replace()
			story.cloud.Remove("vol-1")
			if ends {
				story.start()
			}
			story.run(time.Hour)
			story.says(commonv1.ReasonRecreationNotRequested)
			if n := len(story.cloud.Disks()); n > 0 {
				w.Errorf("the process ends: %t: created again unasked", ends)
			}
		}
	})
}

// TestOutsideDeletedAndMissed is about processes that each wrongly find nothing in the first
// Observe of a deleted object, and end. No resource is left.
func TestOutsideDeletedAndMissed(t *testing.T) {
	each(t, classes, func(w *world) {
		w.ready()
		w.Delete(atKey())
		for range 5 {
			w.missed()
			w.start()
			_, _ = w.pass() // an error requeues the object
			if w.Gone(atKey()) {
				break
			}
		}
		w.cloud.Hidden = nil
		w.run(10 * time.Minute)
		if !w.Gone(atKey()) || len(w.cloud.Disks()) > 0 {
			w.Errorf("the object is gone: %t, and there are %s", w.Gone(atKey()), ids(w.cloud.Disks()))
		}
	})
}

// TestOutsideAnnotationsFrozen is about a policy that keeps annotations as they were first set.
// A lost resource is not created again under the marks of the first attempt, and the object
// reports why.
func TestOutsideAnnotationsFrozen(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.ready()
		w.admit = func(body map[string]any) {
			had := w.get().GetAnnotations()
			drops(func(k string) bool { _, has := had[k]; return has }, false)(body)
		}
		w.cloud.Remove("vol-1")
		for range 3 {
			w.run(10 * time.Minute)
			w.start()
		}
		if n := w.cloud.Count("Create"); n > 1 {
			w.Errorf("Create was called %d times more", n-1)
		}
		w.says(commonv1.ReasonMarksNotStored, meta.AnnotationKeyCreateAttempt)
	})
}

// TestOutsideConflictsForEver is about another writer that writes the object all the time, so
// that each write with a version conflicts. The object reports it.
func TestOutsideConflictsForEver(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.answer = func(r write) error {
			metadata, _ := r.body["metadata"].(map[string]any)
			if r.verb == "patch" && metadata["resourceVersion"] != nil {
				return kerrors.NewConflict(volumes, key.Name, errLost)
			}

			return nil
		}
		w.create()
		w.run(time.Hour)
		if !w.reported() {
			w.Errorf("it is not reported: %+v", w.get().Status.Conditions)
		}
	})
}

// TestOutsideMarksOfTheFuture applies a manifest that was exported elsewhere, with the times of
// another clock. A lost answer leads to no second resource.
func TestOutsideMarksOfTheFuture(t *testing.T) {
	each(t, assigned, func(w *world) {
		for _, mark := range []string{meta.AnnotationKeyExternalCreateFailed,
			meta.AnnotationKeyExternalCreateSucceeded, meta.AnnotationKeyExternalCreatePending} {
			story := w.again()
			story.loseCreate(func() {})
			story.create(func(v *volume.Volume) { v.SetAnnotations(map[string]string{mark: "2099-01-01T00:00:00Z"}) })
			for range 3 {
				story.run(10 * time.Minute)
				story.start()
			}
			if disks := story.cloud.Disks(); len(disks) > 1 || !ready(story.get()) && !story.reported() {
				w.Errorf("with %s there are %s; the object says %+v", mark, ids(disks), story.get().Status.Conditions)
			}
		}
	})
}

// TestOutsideFinalizerTakenForGood removes the finalizer, and a policy drops it from then on.
// The object reports it before it is deleted.
func TestOutsideFinalizerTakenForGood(t *testing.T) {
	each(t, classes, func(w *world) {
		w.ready()
		w.admit = drops(none, true)
		v := w.get()
		v.SetFinalizers(nil)
		w.Must(w.API.Update(w.Context(), v))
		w.run(20 * time.Minute)
		w.says(commonv1.ReasonMarksNotStored, managed.FinalizerName)
	})
}

// TestOutsideResultRefusedAndDeleted refuses the write of the result of a creation for ten
// minutes, in which the object is deleted. The object and its resource are removed.
func TestOutsideResultRefusedAndDeleted(t *testing.T) {
	each(t, assigned, func(w *world) {
		var until time.Time
		w.answer = func(r write) error {
			if isResult(r) && until.IsZero() {
				until = time.Now().Add(10 * time.Minute)
			}
			if r.verb == "patch" && time.Now().Before(until) {
				return kerrors.NewInvalid(volume.GroupVersion.WithKind("Volume").GroupKind(), key.Name, nil)
			}

			return nil
		}
		w.create()
		_, _ = w.pass() // an error requeues the object
		w.Delete(atKey())
		w.run(time.Hour)
		if disks := w.cloud.Disks(); !w.Gone(atKey()) || len(disks) > 0 {
			w.Errorf("the object is gone: %t, and there are %s", w.Gone(atKey()), ids(disks))
		}
	})
}

// TestOutsideReplacedWhileInProgress removes the handle of a creation in progress by a replace:
// there is one resource, and the object becomes ready.
func TestOutsideReplacedWhileInProgress(t *testing.T) {
	each(t, []class{opaque, token}, func(w *world) {
		var begun time.Time
		w.over(func(inner managed.ExternalClient) managed.ExternalClient {
			return wrapped{ExternalClient: inner, call: func(name string, mg *volume.Volume, call func() error) error {
				switch {
				case name == "Create":
					_ = call() // the result is not known yet
					begun = time.Now()
					meta.RemoveAnnotations(mg, meta.AnnotationKeyExternalName)

					return external.InProgress("op-1", 5*time.Second)
				case name == "Observe" && !begun.IsZero() && time.Since(begun) < time.Minute:
					return external.InProgress("op-1", 5*time.Second)
				case name == "Observe" && !begun.IsZero() && meta.GetExternalName(mg) == "":
					meta.SetExternalName(mg, "vol-1")
				}

				return call()
			}}
		})
		w.create()
		w.run(15 * time.Second)
		w.replace()
		w.run(10 * time.Minute)
		w.isReady()
	})
}

// A forgetful client finds the created resource, and does not set its name.
type forgetful struct{ wrapped }

// RecoverCreation finds it.
func (forgetful) RecoverCreation(context.Context, resource.Managed, string) (bool, error) {
	return true, nil
}

// RecoveryWindow returns ten seconds.
func (forgetful) RecoveryWindow() time.Duration { return 10 * time.Second }

// TestOutsideRecoveryForgetsTheName is about a RecoverCreation that does not set the name. The
// object reports it, and nothing is created again.
func TestOutsideRecoveryForgetsTheName(t *testing.T) {
	in(t, opaque, func(w *world) {
		w.over(func(inner managed.ExternalClient) managed.ExternalClient {
			return forgetful{wrapped{ExternalClient: inner}}
		})
		w.loseCreate(func() {})
		w.create()
		w.run(time.Hour)
		w.single()
		w.says(commonv1.ReasonReconcileError, "RecoverCreation has to set it")
	})
}

// TestOutsideCreateAnswersNotFound is about a resource whose parent does not exist: the client
// returns external.NotFound, as for each 404. The object reports the answer.
func TestOutsideCreateAnswersNotFound(t *testing.T) {
	each(t, classes, func(w *world) {
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Create" {
				return external.NotFound(errors.New("404: no such project"))
			}

			return nil
		}
		w.create()
		w.run(3 * time.Minute)
		if !w.reported() || len(w.cloud.Disks()) > 0 {
			w.Errorf("reported: %t, and there are %s", w.reported(), ids(w.cloud.Disks()))
		}
	})
}
