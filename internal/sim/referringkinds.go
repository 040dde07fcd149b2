package sim

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/sim/bucket"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// waitForReferents is a scenario in which objects refer to another kind that processes also watch. One object refers to
// a referent that is created long after it. Another refers to a referent that is created with it; the process sees it
// later, or earlier if the cache of the objects is frozen. Finally the referent is deleted first.
func waitForReferents(w *World) {
	w.users.create(newReferringReplica("first", "far"))
	w.run(w.now().Add(30 * time.Second))
	w.users.create(newReferringReplica("second", "near"))
	w.users.must(w.users.client.Create(context.Background(), newBucket("near", keyExternalName, "old-near")))
	w.resolvesSoon("second")
	w.run(w.now().Add(30 * time.Second))
	far := newBucket("far", keyExternalName, "old-far")
	w.users.must(w.users.client.Create(context.Background(), far))
	w.resolvesSoon("first")
	w.settle()
	w.quiet()
	w.users.must(client.IgnoreNotFound(w.users.client.Delete(context.Background(), far))) // a restore may have taken it
	w.users.delete(firstKey)
	w.settle()
}

// newReferringReplica returns an object that refers to another kind. Its poll interval is so long that only the event
// of the referent can enqueue it in time.
func newReferringReplica(name, to string) *bucket.Replica {
	t := withLongPoll(newReplica(name))
	annotate(t, bucket.AnnotationParentIsBucket, "true")
	t.Spec.ParentRef = &commonv1.NamespacedReference{Name: to}

	return t
}

// resolvesSoon checks that an object is reconciled when its process sees the referent, and not only at the next poll.
func (w *World) resolvesSoon(name string) {
	is := func() bool {
		t, _ := w.users.see(types.NamespacedName{Namespace: firstKey.Namespace, Name: name}).(*bucket.Replica)

		return t != nil && t.Spec.Parent != ""
	}
	if soon := w.run(w.now().Add(10*time.Second), is); !soon && w.fired == 0 {
		w.violate("L1", name+" is not reconciled, although its referent exists")
	}
}

// expectWaiting expects that an object reports that it waits while its referent does not exist.
func expectWaiting(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		t, ok := mg.(*bucket.Replica)
		if !ok || isDeleted(mg) || isPaused(mg) || t.Spec.Parent != "" || t.Spec.ParentRef == nil {
			return "", false
		}
		if w.server.Stored(w.config.refers,
			types.NamespacedName{Namespace: t.Namespace, Name: t.Spec.ParentRef.Name}) != nil {
			return "it does not know what it refers to, which is there", true
		}
		if conditionOf(mg, "Synced").Status != metav1.ConditionFalse {
			return "it does not say that it waits for what it refers to", true
		}

		return "", true
	}
}
