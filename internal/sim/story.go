package sim

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// The exported methods of a World are the steps of a scenario. They never fail. Call them on the goroutine of the
// world.

// Create creates an object as a user.
func (w *World) Create(mg resource.Managed) types.UID { return w.users.create(mg) }

// Get returns a copy of the stored object, or nil.
func (w *World) Get(key types.NamespacedName) resource.Managed { return w.users.get(key) }

// Change edits an object as a user. It does nothing if the object does not exist.
func (w *World) Change(key types.NamespacedName, change func(resource.Managed)) {
	w.users.change(key, change)
}

// Annotate sets an annotation of an object. An empty value removes it.
func (w *World) Annotate(key types.NamespacedName, annotation, value string) {
	w.users.annotate(key, annotation, value)
}

// Delete deletes an object if it exists.
func (w *World) Delete(key types.NamespacedName) { w.users.delete(key) }

// Adopt lets the checks accept that an object has a resource that was not created for the object.
func (w *World) Adopt(object types.UID) { w.users.adopted[object] = true }

// Leave lets the checks accept that the resource of an object stays after the object is removed.
func (w *World) Leave(object types.UID) { w.users.left[object] = true }

// Live lets a duration of virtual time pass. It returns earlier if one of the conditions in enough is true.
func (w *World) Live(d time.Duration, enough ...func() bool) { w.run(w.now().Add(d), enough...) }

// Client returns a client of users for the API server. No fault affects its requests.
func (w *World) Client() client.Client { return w.users.client }

// Settle lets time pass until every object is in the desired state, and records a violation if that takes too long.
func (w *World) Settle() { w.settle() }

// Rest lets a poll interval pass. It checks that nothing is written and no external resource is changed, because
// nothing has changed.
func (w *World) Rest() { w.quiet() }

// Untouched lets some poll intervals pass, and checks that no external resource is changed. The text of a violation
// ends with why.
func (w *World) Untouched(why string) { w.untouched(why) }

// Disturbed returns whether a fault made a user change something, or may have prevented a process from reading the last
// changes of users.
func (w *World) Disturbed() bool { return w.users.acted || len(w.exempt.stale) > 0 }

// Expect sets a check of whether an object is in the desired state. It is called before the usual checks. These follow
// only if it returns decided as false. Expect(nil) removes the check.
func (w *World) Expect(expect func(resource.Managed) (lacks string, decided bool)) {
	w.script.expect = expect
}

// Violate records that a property does not hold.
func (w *World) Violate(property, text string) { w.violate(property, text) }

// Abort ends the run as soon as possible. The results of later checks are meaningless.
func (w *World) Abort() { w.over = true }
