package sim

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// What a story may do in a world. Nothing fails for its users, and everything is
// done on the one goroutine of the world.

// Create an object, as a user.
func (w *World) Create(mg resource.Managed) types.UID { return w.users.create(mg) }

// Get returns a copy of an object as it is stored, or nil.
func (w *World) Get(key types.NamespacedName) resource.Managed { return w.users.get(key) }

// Change an object, as a user who edits it. Nothing happens if it is not there.
func (w *World) Change(key types.NamespacedName, change func(resource.Managed)) {
	w.users.change(key, change)
}

// Annotate an object. An empty value takes the annotation away.
func (w *World) Annotate(key types.NamespacedName, annotation, value string) {
	w.users.annotate(key, annotation, value)
}

// Delete an object, if it is there.
func (w *World) Delete(key types.NamespacedName) { w.users.delete(key) }

// Adopt says that an object may have what was not made for it: its user said so.
func (w *World) Adopt(object types.UID) { w.users.adopted[object] = true }

// Leave says that what was made for an object may stay when it goes.
func (w *World) Leave(object types.UID) { w.users.left[object] = true }

// Live lets the world live for a while, or until something is the case.
func (w *World) Live(d time.Duration, enough ...func() bool) { w.run(w.now().Add(d), enough...) }

// Settle lets the world live until every object is as asked for, and judges that
// it becomes so.
func (w *World) Settle() { w.settle() }

// Rest lets the world live for a poll interval and judges that nothing is written
// and nothing changed outside, since nothing changes.
func (w *World) Rest() { w.quiet() }

// Untouched lets the world live for some poll intervals and judges that nothing is
// changed outside. Why is the end of the sentence that says so.
func (w *World) Untouched(why string) { w.untouched(why) }

// Disturbed says whether a user did what the story does not know of, or whether
// somebody may not have read yet what users want, because a fault said so.
func (w *World) Disturbed() bool { return w.users.acted || len(w.stale) > 0 }

// Expect sets what is asked first what an object lacks. It says nothing of what
// it has not decided. Nil expects what is usual.
func (w *World) Expect(expect func(resource.Managed) (lacks string, decided bool)) { w.expect = expect }

// Violate says that a property does not hold.
func (w *World) Violate(property, text string) { w.violate(property, text) }

// Abort ends the world as soon as it can be. What is judged after that means
// nothing.
func (w *World) Abort() { w.over = true }
