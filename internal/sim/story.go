package sim

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// The exported methods of a World are the steps of a scenario. They never fail, and are called on the goroutine of the
// world.

// Create creates an object, as a user.
func (w *World) Create(mg resource.Managed) types.UID { return w.users.create(mg) }

// Get returns a copy of an object as it is stored, or nil.
func (w *World) Get(key types.NamespacedName) resource.Managed { return w.users.get(key) }

// Change changes an object, as a user who edits it. It does nothing if the object does not exist.
func (w *World) Change(key types.NamespacedName, change func(resource.Managed)) {
	w.users.change(key, change)
}

// Annotate sets an annotation of an object. An empty value removes it.
func (w *World) Annotate(key types.NamespacedName, annotation, value string) {
	w.users.annotate(key, annotation, value)
}

// Delete deletes an object, if it exists.
func (w *World) Delete(key types.NamespacedName) { w.users.delete(key) }

// Adopt allows an object to have a resource that was not made for it.
func (w *World) Adopt(object types.UID) { w.users.adopted[object] = true }

// Leave allows that the resource of an object stays when the object goes.
func (w *World) Leave(object types.UID) { w.users.left[object] = true }

// Live lets time pass, for a while or until a condition is true.
func (w *World) Live(d time.Duration, enough ...func() bool) { w.run(w.now().Add(d), enough...) }

// Settle lets time pass until every object is in the desired state, and judges that this happens.
func (w *World) Settle() { w.settle() }

// Rest lets a poll interval pass and judges that nothing is written and no external resource is changed, since nothing
// changes.
func (w *World) Rest() { w.quiet() }

// Untouched lets some poll intervals pass and judges that no external resource is changed. The text of a violation ends
// with why.
func (w *World) Untouched(why string) { w.untouched(why) }

// Disturbed says whether a user of a fault has changed something, or a process may not have read yet what users want,
// because of a fault.
func (w *World) Disturbed() bool { return w.users.acted || len(w.exempt.stale) > 0 }

// Expect sets a check that decides first whether an object is in the desired state. If it does not decide, the usual
// checks follow. Nil removes it.
func (w *World) Expect(expect func(resource.Managed) (lacks string, decided bool)) {
	w.script.expect = expect
}

// Violate records that a property does not hold.
func (w *World) Violate(property, text string) { w.violate(property, text) }

// Abort ends the run as soon as possible. What is judged after that is meaningless.
func (w *World) Abort() { w.over = true }
