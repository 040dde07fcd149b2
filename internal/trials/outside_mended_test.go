package trials

import (
	"testing"
	"time"
)

// TestOutsideReplacedAndAnotherAccount replaces the object and connects its configuration to
// another account in one sync. The replace removes moorage.dev/backend-identity, which the
// running process restores, so that nothing is created in the other account.
func TestOutsideReplacedAndAnotherAccount(t *testing.T) {
	each(t, classes, func(w *world) {
		w.cloud.Account = "east"
		w.ready()
		w.replace()
		w.cloud.Account = "west"
		w.cloud.Hidden = func(string) bool { return true } // it does not exist in the other account
		w.run(2 * time.Minute)
		if n := w.cloud.Count("Create"); n > 1 {
			w.Errorf("created in another account, %d times in two minutes", n-1)
		}
	})
}

// TestOutsideBlockedAndReplaced replaces an object that is blocked because the answer of Create
// was lost, or because the resource does not show for long. That is no answer of its user:
// nothing else is created.
func TestOutsideBlockedAndReplaced(t *testing.T) {
	in(t, opaque, func(w *world) {
		for name, block := range map[string]func(*world){
			"the answer was lost": func(w *world) { w.loseCreate(func() {}) },
			"it does not show":    func(w *world) { w.cloud.Hidden = func(string) bool { return true } },
		} {
			story := w.again()
			block(story)
			story.create()
			story.run(10 * time.Minute)
			story.single()
			story.replace()
			story.run(10 * time.Minute)
			if disks := story.cloud.Disks(); len(disks) > 1 {
				w.Errorf("%s, and the object is replaced: there are %s", name, ids(disks))
			}
		}
	})
}

// leavesNothingUnreported checks that a warning reports the resources that a removed object has left.
func (w *world) leavesNothingUnreported(what string) {
	w.Helper()
	if disks := w.cloud.Disks(); w.Gone(atKey()) && len(disks) > 0 && w.warnings() == 0 {
		w.Errorf("%s: the object is gone, and %s is left without a warning; events: %v", what, ids(disks), w.events)
	}
}

// TestOutsideBlockedDeletedAndReplaced does the same for a deleted object. It is not removed
// without a warning about its resource.
func TestOutsideBlockedDeletedAndReplaced(t *testing.T) {
	in(t, opaque, func(w *world) {
		w.loseCreate(func() {})
		w.create()
		w.run(10 * time.Minute)
		w.Delete(atKey())
		w.run(10 * time.Minute)
		if w.Gone(atKey()) {
			w.Fatal("the story is that of an object that waits for its user")
		}
		w.events = nil
		w.replace()
		w.run(10 * time.Minute)
		w.leavesNothingUnreported("replaced")
	})
}
