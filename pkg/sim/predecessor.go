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

// What a predecessor, the runtime that reconciled an object before, leaves on it (docs/lifecycle.md, "What another
// runtime left").
const (
	theirDomain    = "crossplane.io"
	theirFinalizer = "finalizer.managedresource.crossplane.io"
	theirPaused    = "crossplane.io/paused"
	theirName      = "crossplane.io/external-name"
	theirPending   = "crossplane.io/external-create-pending"
	theirSucceeded = "crossplane.io/external-create-succeeded"
	theirFailed    = "crossplane.io/external-create-failed"
)

// Scenarios in which the provider takes over what a predecessor has left. The external name is never that of the
// object, but where one is chosen whose creation was not answered. What a predecessor made bears no owner, unless
// that alone tells whose it is.
var succession = []scenario{
	{name: "predecessor", single: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded, live: func(w *World) {
		w.predecessorLeaves(place{ID: "old", Length: 10}, theirName, "old", theirPending, ago(2*time.Hour), theirSucceeded, ago(time.Hour))
		w.settle()
		w.quiet()
		w.users.delete(firstKey)
		w.settle()
	}},
	{name: "predecessor-paused", single: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded, live: func(w *World) {
		w.predecessorLeaves(place{ID: "old", Length: 3}, theirName, "old", theirSucceeded, ago(time.Hour), theirPaused, "true")
		w.untouched("while the object is paused")
		w.users.annotate(firstKey, theirPaused, "")
		w.settle()
	}},
	{name: "predecessor-deleted", single: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded, live: func(w *World) {
		w.predecessorLeaves(place{ID: "old", Length: 10}, theirName, "old", theirSucceeded, ago(time.Hour))
		w.users.delete(firstKey)
		w.settle()
	}},
	{name: "predecessor-pending", single: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded, live: func(w *World) {
		w.leavesUnknown(theirFailed, ago(2*time.Hour), theirPending, ago(time.Hour))
		w.settle()
		w.users.delete(firstKey)
		w.settle()
	}},
	{name: "predecessor-pending-deleted", single: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded, live: func(w *World) {
		w.leavesUnknown(theirPending, ago(time.Hour))
		w.users.delete(firstKey)
		w.settle()
	}},
	// The keys and the finalizer of provider-runtime v0.9 are ours: no option tells that it came before. It has no
	// attempt, and no condition Created.
	{name: "predecessor-krateo", single: true, lag: 5 * time.Millisecond, live: func(w *World) {
		w.leaves(ourFinalizer, place{ID: "old", Length: 3}, keyExternalName, "old", keyPending, ago(2*time.Hour), keySucceeded, ago(time.Hour))
		w.settle()
		w.quiet()
		w.users.delete(firstKey)
		w.settle()
	}},
	{name: "predecessor-krateo-pending", single: true, lag: 5 * time.Millisecond, live: func(w *World) {
		w.stamps(w.leaves(ourFinalizer, place{ID: "first", Length: 10}, keyFailed, ago(2*time.Hour), keyPending, ago(time.Hour)))
		w.settle()
		w.users.delete(firstKey)
		w.settle()
	}},
	{name: "predecessor-again", calm: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded, live: func(w *World) {
		w.predecessorLeaves(place{ID: "old", Length: 10}, theirName, "old", theirSucceeded, ago(time.Hour))
		w.settle()
		w.predecessorCreates("new")
		w.settle()
		w.quiet()
		w.users.delete(firstKey)
		w.settle()
	}},
	{name: "predecessor-again-deleted", calm: true, lag: 5 * time.Millisecond, config: succeeds, expect: succeeded, live: func(w *World) {
		w.predecessorLeaves(place{ID: "old", Length: 10}, theirName, "old", theirSucceeded, ago(time.Hour))
		w.settle()
		w.predecessorCreates("new")
		w.users.delete(firstKey)
		w.settle()
	}},
}

func ago(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }

// succeeds: the provider is told which runtime came before it.
func succeeds(w *World) {
	w.config.Options = append(w.config.Options, managed.WithPredecessor(theirDomain), managed.WithRetiredFinalizers(theirFinalizer))
}

// predecessorLeaves makes an object as crossplane-runtime leaves it.
func (w *World) predecessorLeaves(made place, annotations ...string) *place {
	return w.leaves(theirFinalizer, made, annotations...)
}

// leaves makes an object as a predecessor with a finalizer leaves it, and the place that it has made for it. Its
// conditions tell no generation.
func (w *World) leaves(finalizer string, made place, annotations ...string) *place {
	b := newBerth("first", annotations...)
	b.Finalizers = []string{finalizer}
	made.For = w.users.create(b)
	p := w.harbour.put(made)
	p.made = w.now().Add(-time.Hour)
	if w.harbour.class.named { // without a record, nothing but the stamp tells whose it is
		p.Stamp = p.For
	}
	if w.replays() {
		return p
	}
	b, err := berthOf(w.users.get(firstKey))
	w.users.must(err)
	now := metav1.Now()
	b.Status.Conditions = []commonv1.Condition{
		{Type: "Ready", Status: "True", Reason: "Available", LastTransitionTime: now},
		{Type: "Synced", Status: "True", Reason: "ReconcileSuccess", LastTransitionTime: now},
	}
	w.users.must(w.users.client.Status().Update(context.Background(), b))

	return p
}

// succeeded: nothing keeps an object for the predecessor any more.
func succeeded(*World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		if isDeleted(mg) || isPaused(mg) || !keptByThem(mg) {
			return "", false
		}

		return "it still has the finalizer of the predecessor", true
	}
}

// leavesUnknown makes an object whose creation the predecessor had no answer to, and what was made all the same. What
// tells that it is the object's, where anything does, is its stamp: the client wrote that already when the
// predecessor called it.
func (w *World) leavesUnknown(annotations ...string) {
	w.stamps(w.predecessorLeaves(place{ID: "first", Length: 10}, annotations...))
}

func (w *World) stamps(p *place) {
	if w.harbour.class.stamped {
		p.Stamp = p.For
	}
}

// predecessorCreates ends the provider. Until it begins again, the predecessor keeps the object once more, as after a
// rollback without the command: what it had made is gone, and it makes another place, whose name it does not tell the
// provider.
func (w *World) predecessorCreates(id string) {
	w.rollsOut()
	mg := w.users.see(firstKey)
	if mg == nil {
		return
	}
	w.vacate(firstKey, w.nameOf(mg))
	made := place{ID: id, Length: 10, For: mg.GetUID()}
	if w.harbour.class.named {
		made.Stamp = made.For
	}
	w.harbour.put(made)
	w.users.change(firstKey, func(mg resource.Managed) {
		mg.SetFinalizers(append(mg.GetFinalizers(), theirFinalizer))
		for _, key := range []string{theirPending, theirSucceeded} {
			annotate(mg, key, w.now().UTC().Format(time.RFC3339))
		}
		annotate(mg, theirName, id)
	})
}

// supersedes says whether a predecessor has made another resource for an object than the one that it has the name of.
func supersedes(o metav1.Object) bool {
	name := o.GetAnnotations()[theirName]

	return name != "" && name != externalName(o) && markedAt(o, theirSucceeded).After(markedAt(o, keySucceeded))
}

// underTheirName returns an object with the external name that a predecessor has given it, if it has no other.
func underTheirName(mg resource.Managed) resource.Managed {
	name := mg.GetAnnotations()[theirName]
	if name == "" || externalName(mg) != "" {
		return mg
	}
	named := mg.DeepCopyObject().(resource.Managed) //nolint:forcetypeassert // a copy has the type of its original
	annotate(named, keyExternalName, name)

	return named
}

// keptByThem says whether the finalizer of a predecessor keeps an object.
func keptByThem(o metav1.Object) bool { return slices.Contains(o.GetFinalizers(), theirFinalizer) }

// unknownToThem says whether a predecessor did not know what became of the last creation that it began for an object.
// One whose keys are ours began it before this object was created, and with no attempt.
func unknownToThem(o metav1.Object) bool {
	if unknown(o, theirPending, theirSucceeded, theirFailed) {
		return true
	}

	return attemptOf(o) == "" && markedAt(o, keyPending).Before(o.GetCreationTimestamp().Time) && unknown(o, keyPending, keySucceeded, keyFailed)
}

func unknown(o metav1.Object, begun, succeeded, failed string) bool {
	pending := markedAt(o, begun)

	return pending.After(markedAt(o, succeeded)) && pending.After(markedAt(o, failed))
}

// unheardOf says whether the provider knows nothing of what exists for an object: it has not taken the object over,
// or the predecessor did not know either.
func unheardOf(o metav1.Object) bool { return keptByThem(o) && !isHeld(o) || inherits(o) }

// inherits says whether the last creation for an object is such a one.
func inherits(o metav1.Object) bool { return unknownToThem(o) && attemptOf(o) == "" }

// judgeTheirFinalizer judges that a write which takes a predecessor's finalizer from an object leaves ours on it, or
// comes after the end of the external resource.
func (w *World) judgeTheirFinalizer(c apiserver.Change, now resource.Managed) {
	stays := c.Type != apiserver.Deleted && keptByThem(now)
	if !keptByThem(c.Old) || stays || isHeld(c.Old) || c.Type != apiserver.Deleted && isHeld(now) {
		return
	}
	uid := now.GetUID()
	if isDeleted(c.Old) && (!allows(now, toDelete) || w.mayStay(uid) || len(w.unexcused(uid)) == 0) {
		return
	}
	w.violate("S26", fmt.Sprintf("the finalizer %s of a predecessor went before anything else kept %s", theirFinalizer, now.GetName()))
}

// forejudgeRepeat judges a Create for an object, as it is stored.
func (w *World) forejudgeRepeat(now resource.Managed) {
	if unknownToThem(now) && !w.users.answered[now.GetUID()] {
		w.violate("S27", "Create, although nobody knows what became of the one that a predecessor began")
	}
}
