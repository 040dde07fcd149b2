package trials

import (
	"testing"
	"time"
)

// TestOutsideReplacedAndAnotherAccount: one sync replaces the object and lets its configuration
// lead to another account. The replace takes moorage.dev/backend-identity, which a process that
// lives puts back, so that nothing is created in the other account.
func TestOutsideReplacedAndAnotherAccount(t *testing.T) {
	each(t, classes, func(w *world) {
		w.cloud.Account = "east"
		w.ready()
		w.replace()
		w.cloud.Account = "west"
		w.cloud.Hidden = func(string) bool { return true } // nothing of it is there
		w.run(2 * time.Minute)
		if n := w.cloud.Count("Create"); n > 1 {
			w.Errorf("created in another account, %d times in two minutes", n-1)
		}
	})
}

// TestOutsideBlockedAndReplaced: an object is blocked because the answer of Create was lost, or
// because what was created does not show for long, and a sync replaces it. That is no answer of
// its user: nothing else is created.
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

// letGo demands that what is left of an object that is gone was told.
func (w *world) letGo(what string) {
	w.Helper()
	if disks := w.cloud.Disks(); w.Gone(atKey()) && len(disks) > 0 && w.warnings() == 0 {
		w.Errorf("%s: the object is gone, and %s is left without a word; events: %v", what, ids(disks), w.events)
	}
}

// TestOutsideBlockedDeletedAndReplaced: the same for an object that is deleted. It does not go and
// leave what was created without a word.
func TestOutsideBlockedDeletedAndReplaced(t *testing.T) {
	in(t, opaque, func(w *world) {
		w.loseCreate(func() {})
		w.create()
		w.run(10 * time.Minute)
		w.Delete(atKey())
		w.run(10 * time.Minute)
		if w.Gone(atKey()) {
			w.Fatal("the story is that of an object that waits for somebody")
		}
		w.events = nil
		w.replace()
		w.run(10 * time.Minute)
		w.letGo("replaced")
	})
}
