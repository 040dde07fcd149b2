package managed

import (
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/moorage-dev/moorage/pkg/meta"
)

// Predicate returns the predicate for the controller of this reconciler. It passes changes of the generation, the
// labels, the annotations, the deletion timestamp and the finalizers of other writers. It also passes the removal of
// our finalizer by another writer, if the object is not being deleted.
//
// It drops status writes and all writes of this reconciler. An event resets the backoff of an object, so a reconciler
// that received its own events would never back off.
func (r *Reconciler) Predicate() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		if e.ObjectOld == nil || e.ObjectNew == nil {
			return false
		}

		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
			!slices.Equal(foreign(e.ObjectOld), foreign(e.ObjectNew)) ||
			released(e.ObjectOld, e.ObjectNew) ||
			r.annotated(e.ObjectOld, e.ObjectNew)
	}}
}

func foreign(o client.Object) []string {
	return slices.DeleteFunc(slices.Clone(o.GetFinalizers()),
		func(name string) bool { return name == FinalizerName || name == UnclaimedFinalizer })
}

// released reports whether our finalizer was removed from an object that is not being deleted. Only another writer
// does that.
func released(before, now client.Object) bool {
	return now.GetDeletionTimestamp().IsZero() && meta.FinalizerExists(before, FinalizerName) &&
		!meta.FinalizerExists(now, FinalizerName)
}

// annotated reports whether another writer changed an annotation.
func (r *Reconciler) annotated(before, now client.Object) bool {
	changes := difference(before.GetAnnotations(), now.GetAnnotations())
	if len(changes) == 0 {
		return false
	}
	known := r.objects.Peek(client.ObjectKeyFromObject(now), now.GetUID())
	others := false
	for key, value := range changes { // each change is recorded, in any order
		text, _ := value.(string)
		others = known == nil || !known.isOwnEcho(key, text) || others
	}

	return others
}
