package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// Annotations and finalizer that a predecessor leaves on an object. A predecessor is another runtime that reconciled
// the object before (docs/lifecycle.md, "What another runtime left").
const (
	theirDomain    = "crossplane.io"
	theirFinalizer = "finalizer.managedresource.crossplane.io"
	theirPaused    = "crossplane.io/paused"
	theirName      = "crossplane.io/external-name"
	theirPending   = "crossplane.io/external-create-pending"
	theirSucceeded = "crossplane.io/external-create-succeeded"
	theirFailed    = "crossplane.io/external-create-failed"
)

// predecessorScenarios are the scenarios in which the provider takes over the objects of a predecessor. The external
// name is not that of the object, except if a name was chosen whose creation was not answered. The resources of a
// predecessor have no owner, except in a class where only the owner identifies the object of a resource.
var predecessorScenarios = []scenario{
	{name: "predecessor", singleFaults: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded,
		run: func(w *World) {
			w.predecessorLeaves(extResource{ID: "old", Size: 10}, theirName, "old", theirPending, ago(2*time.Hour),
				theirSucceeded, ago(time.Hour))
			w.settle()
			w.quiet()
			w.users.delete(firstKey)
			w.settle()
		}},
	{name: "predecessor-paused", singleFaults: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded,
		run: func(w *World) {
			w.predecessorLeaves(extResource{ID: "old", Size: 3}, theirName, "old", theirSucceeded, ago(time.Hour),
				theirPaused,
				"true")
			w.untouched("while the object is paused")
			w.users.annotate(firstKey, theirPaused, "")
			w.settle()
		}},
	{name: "predecessor-deleted", singleFaults: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded,
		run: func(w *World) {
			w.predecessorLeaves(extResource{ID: "old", Size: 10}, theirName, "old", theirSucceeded, ago(time.Hour))
			w.users.delete(firstKey)
			w.settle()
		}},
	{name: "predecessor-pending", singleFaults: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded,
		run: func(w *World) {
			w.leavesUnknown(theirFailed, ago(2*time.Hour), theirPending, ago(time.Hour))
			w.settle()
			w.users.delete(firstKey)
			w.settle()
		}},
	{name: "predecessor-pending-deleted", singleFaults: true, lag: 5 * time.Millisecond, config: succeeds,
		expect: succeeded, run: func(w *World) {
			w.leavesUnknown(theirPending, ago(time.Hour))
			w.users.delete(firstKey)
			w.settle()
		}},
	// provider-runtime v0.9 uses the same keys and finalizer as this library, so it needs no option. It has neither an
	// attempt nor a condition Created.
	{name: "predecessor-krateo", singleFaults: true, lag: 5 * time.Millisecond, run: func(w *World) {
		w.leavesObject(ourFinalizer, extResource{ID: "old", Size: 3}, keyExternalName, "old", keyPending,
			ago(2*time.Hour),
			keySucceeded, ago(time.Hour))
		w.settle()
		w.quiet()
		w.users.delete(firstKey)
		w.settle()
	}},
	{name: "predecessor-krateo-pending", singleFaults: true, lag: 5 * time.Millisecond, run: func(w *World) {
		w.stamps(w.leavesObject(ourFinalizer, extResource{ID: "first", Size: 10}, keyFailed, ago(2*time.Hour),
			keyPending,
			ago(time.Hour)))
		w.settle()
		w.users.delete(firstKey)
		w.settle()
	}},
	{name: "predecessor-again", faultless: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded,
		run: func(w *World) {
			w.predecessorLeaves(extResource{ID: "old", Size: 10}, theirName, "old", theirSucceeded, ago(time.Hour))
			w.settle()
			w.predecessorCreates("new")
			w.settle()
			w.quiet()
			w.users.delete(firstKey)
			w.settle()
		}},
	{name: "predecessor-again-deleted", faultless: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded,
		run: func(w *World) {
			w.predecessorLeaves(extResource{ID: "old", Size: 10}, theirName, "old", theirSucceeded, ago(time.Hour))
			w.settle()
			w.predecessorCreates("new")
			w.users.delete(firstKey)
			w.settle()
		}},
}

func ago(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }

// succeeds configures the predecessor of the provider.
func succeeds(w *World) {
	w.config.Options = append(w.config.Options, managed.WithPredecessor(theirDomain),
		managed.WithRetiredFinalizers(theirFinalizer))
}

// predecessorLeaves creates an object as crossplane-runtime leaves it.
func (w *World) predecessorLeaves(made extResource, annotations ...string) *extResource {
	return w.leavesObject(theirFinalizer, made, annotations...)
}

// leavesObject creates an object as a predecessor with a finalizer leaves it, and its external resource. Its
// conditions have no generation.
func (w *World) leavesObject(finalizer string, made extResource, annotations ...string) *extResource {
	b := newBucket("first", annotations...)
	b.Finalizers = []string{finalizer}
	made.For = w.users.create(b)
	p := w.system.add(made)
	p.made = w.now().Add(-time.Hour)
	if w.system.class.named { // without a record, only the owner identifies the object
		p.Stamp = p.For
	}
	if w.replaying() {
		return p
	}
	b, err := bucketOf(w.users.get(firstKey))
	w.users.must(err)
	now := metav1.Now()
	b.Status.Conditions = []commonv1.Condition{
		{Type: "Ready", Status: "True", Reason: "Available", LastTransitionTime: now},
		{Type: "Synced", Status: "True", Reason: "ReconcileSuccess", LastTransitionTime: now},
	}
	w.users.must(w.users.client.Status().Update(context.Background(), b))

	return p
}

// succeeded expects that the finalizer of the predecessor is removed.
func succeeded(*World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		if isDeleted(mg) || isPaused(mg) || !keptByThem(mg) {
			return "", false
		}

		return "it still has the finalizer of the predecessor", true
	}
}

// leavesUnknown creates an object with an unanswered creation of the predecessor, and the resource of that creation. If
// the system stores owners, the resource has the owner: the client already wrote the owner when the predecessor called
// it.
func (w *World) leavesUnknown(annotations ...string) {
	w.stamps(w.predecessorLeaves(extResource{ID: "first", Size: 10}, annotations...))
}

func (w *World) stamps(p *extResource) {
	if w.system.class.stamped {
		p.Stamp = p.For
	}
}

// predecessorCreates stops the provider and lets the predecessor reconcile the object once more, as after a rollback.
// The earlier resource is gone. The predecessor creates another one, and only its own annotation has the name of that
// resource.
func (w *World) predecessorCreates(id string) {
	w.rollsOut()
	mg := w.users.see(firstKey)
	if mg == nil {
		return
	}
	w.removeNamed(firstKey, w.nameOf(mg))
	made := extResource{ID: id, Size: 10, For: mg.GetUID()}
	if w.system.class.named {
		made.Stamp = made.For
	}
	w.system.add(made)
	w.users.change(firstKey, func(mg resource.Managed) {
		mg.SetFinalizers(append(mg.GetFinalizers(), theirFinalizer))
		for _, key := range []string{theirPending, theirSucceeded} {
			annotate(mg, key, w.now().UTC().Format(time.RFC3339))
		}
		annotate(mg, theirName, id)
	})
}

// supersedes returns whether a predecessor has created another resource for an object than the one under the external
// name.
func supersedes(o metav1.Object) bool {
	name := o.GetAnnotations()[theirName]

	return name != "" && name != externalName(o) && markedAt(o, theirSucceeded).After(markedAt(o, keySucceeded))
}

// underTheirName returns an object with the external name that a predecessor gave it, if the object has no external
// name.
func underTheirName(mg resource.Managed) resource.Managed {
	name := mg.GetAnnotations()[theirName]
	if name == "" || externalName(mg) != "" {
		return mg
	}
	named := mg.DeepCopyObject().(resource.Managed)
	annotate(named, keyExternalName, name)

	return named
}

// keptByThem returns whether an object has the finalizer of a predecessor.
func keptByThem(o metav1.Object) bool { return slices.Contains(o.GetFinalizers(), theirFinalizer) }

// unknownToThem returns whether the last creation of a predecessor for an object has no result. A predecessor with our
// keys began it before this object was created, and without an attempt.
func unknownToThem(o metav1.Object) bool {
	if unknown(o, theirPending, theirSucceeded, theirFailed) {
		return true
	}

	return attemptOf(o) == "" && markedAt(o, keyPending).Before(o.GetCreationTimestamp().Time) &&
		unknown(o, keyPending, keySucceeded, keyFailed)
}

func unknown(o metav1.Object, begun, succeeded, failed string) bool {
	pending := markedAt(o, begun)

	return pending.After(markedAt(o, succeeded)) && pending.After(markedAt(o, failed))
}

// unknownToProvider returns whether the provider cannot know which resources exist for an object. Either it has not
// taken over the object yet, or the predecessor did not know them either.
func unknownToProvider(o metav1.Object) bool { return keptByThem(o) && !isHeld(o) || inherits(o) }

// inherits returns whether the last creation for an object is a creation of a predecessor without a result.
func inherits(o metav1.Object) bool { return unknownToThem(o) && attemptOf(o) == "" }

// judgeTheirFinalizer checks writes that remove the finalizer of a predecessor. Such a write must keep the finalizer of
// the runtime, or come after the external resource is gone.
func (w *World) judgeTheirFinalizer(c apiserver.Change, now resource.Managed) {
	stays := c.Type != apiserver.Deleted && keptByThem(now)
	if !keptByThem(c.Old) || stays || isHeld(c.Old) || c.Type != apiserver.Deleted && isHeld(now) {
		return
	}
	uid := now.GetUID()
	if isDeleted(c.Old) && (!allows(now, toDelete) || w.mayStay(uid) || len(w.unexcused(uid)) == 0) {
		return
	}
	w.violate("S26", fmt.Sprintf("the finalizer %s of a predecessor went before anything else kept %s", theirFinalizer,
		now.GetName()))
}

// checkRepeatBefore checks a Create for a stored object before it has its effect.
func (w *World) checkRepeatBefore(now resource.Managed) {
	if unknownToThem(now) && !w.users.answered[now.GetUID()] {
		w.violate("S27", "Create, although the result of the one that a predecessor began is not known")
	}
}
