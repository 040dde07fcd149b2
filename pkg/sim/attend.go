package sim

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/sim/internal/berth"
)

// attend: objects refer to some of another kind, which processes watch, too: to one that comes long after them, and
// to one that comes with them and is heard of later, or earlier if the cache of the objects stands still. Then what
// was referred to goes first.
func attend(w *World) {
	w.users.create(newAttendant("first", "pier"))
	w.run(w.now().Add(30 * time.Second))
	w.users.create(newAttendant("second", "jetty"))
	w.users.must(w.users.client.Create(context.Background(), newBerth("jetty", keyExternalName, "old-jetty")))
	w.resolvesSoon("second")
	w.run(w.now().Add(30 * time.Second))
	pier := newBerth("pier", keyExternalName, "old-pier")
	w.users.must(w.users.client.Create(context.Background(), pier))
	w.resolvesSoon("first")
	w.settle()
	w.quiet()
	w.users.must(client.IgnoreNotFound(w.users.client.Delete(context.Background(), pier))) // a restore may have taken it
	w.users.delete(firstKey)
	w.settle()
}

// newAttendant returns an object that refers to one of another kind. It is looked at so seldom that it has to be woken.
func newAttendant(name, to string) *berth.Tender {
	t := seldom(newTender(name))
	annotate(t, berth.AnnotationBesideBerth, "true")
	t.Spec.Beside = &commonv1.NamespacedReference{Name: to}

	return t
}

// resolvesSoon judges that an object is looked at once its process has heard of what it refers to, and not only
// when it would be anyway.
func (w *World) resolvesSoon(name string) {
	is := func() bool {
		t, _ := w.users.see(types.NamespacedName{Namespace: firstKey.Namespace, Name: name}).(*berth.Tender)

		return t != nil && t.Spec.Quay != ""
	}
	if soon := w.run(w.now().Add(10*time.Second), is); !soon && w.fired == 0 {
		w.violate("L1", name+" is not looked at, although what it refers to is there")
	}
}

// attending: an object says that it waits for what it refers to, if that is not there.
func attending(w *World) func(resource.Managed) (string, bool) {
	return func(mg resource.Managed) (string, bool) {
		t, ok := mg.(*berth.Tender)
		if !ok || isDeleted(mg) || isPaused(mg) || t.Spec.Quay != "" || t.Spec.Beside == nil {
			return "", false
		}
		if w.server.Stored(w.config.refers, types.NamespacedName{Namespace: t.Namespace, Name: t.Spec.Beside.Name}) != nil {
			return "it does not know what it refers to, which is there", true
		}
		if conditionOf(mg, "Synced").Status != metav1.ConditionFalse {
			return "it does not say that it waits for what it refers to", true
		}

		return "", true
	}
}
