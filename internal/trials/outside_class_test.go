package trials

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestClassChangesBetweenReleases: a provider's next release is of another class, and is rolled out while it is not
// known what became of a Create. What the release before began cannot be repeated, or looked up, by the next: the
// object is Ready, or says what to do, there is one disk, and none is left when it is deleted but one that the object
// tells of.
func TestClassChangesBetweenReleases(t *testing.T) {
	for _, from := range classes {
		for _, to := range classes {
			if from.name == to.name {
				continue
			}
			for _, how := range []string{"lost", "crash", "blocked"} {
				t.Run(strings.Join([]string{from.name, to.name, how}, "/"), func(t *testing.T) {
					in(t, from, func(w *world) {
						w.interrupt(how)
						w.upgrade(to)
						w.run(time.Hour)
						if n := len(w.cloud.Disks()); n != 1 {
							w.Fatalf("%d disks, want 1", n)
						}
						if !w.told() {
							w.Errorf("it is neither Ready nor says what to do: %v", w.get().Status.Conditions)
						}
						w.Delete(atKey())
						w.run(time.Hour)
						if len(w.cloud.Disks()) > 0 && (w.Gone(atKey()) || !w.told()) {
							w.Errorf("a disk is left without a word; gone: %t", w.Gone(atKey()))
						}
					})
				})
			}
		}
	}
}

// interrupt has an object created whose Create ends in one of some ways that leave open what became of it.
func (w *world) interrupt(how string) {
	w.Helper()
	if how == "crash" {
		w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Create" {
				w.ends = true
				panic("the process ends")
			}

			return nil
		}
		w.answer = func(write) error { // it writes nothing any more
			if w.cloud.Count("Create") > 0 {
				return errLost
			}

			return nil
		}
	} else {
		w.loseCreate(func() {})
	}
	w.create()
	_, _ = w.pass()
	w.cloud.After, w.answer = nil, nil
	if how == "blocked" {
		w.run(20 * time.Minute)
	}
}

// upgrade starts a release of another class. The cloud offers what that needs; of what Opaque made, it knows no token.
func (w *world) upgrade(to class) {
	w.Helper()
	if w.class.name == opaque.name {
		for _, d := range w.cloud.Disks() {
			d.Token = ""
			w.cloud.Put(d)
		}
	}
	next := to.cloud()
	w.cloud.Tokens, w.cloud.Named, w.cloud.Window = next.Tokens, next.Named, next.Window
	w.options = slices.Clone(to.options)
	w.start()
}

// TestClassChangeIsResolvedByAUser: who ends the wait of such an object as its message says gets on, in the class of
// the new release.
func TestClassChangeIsResolvedByAUser(t *testing.T) {
	for _, to := range []class{findable, token, named} {
		t.Run(to.name, func(t *testing.T) {
			in(t, opaque, func(w *world) {
				w.interrupt("lost")
				w.cloud.Remove(w.cloud.Disks()[0].ID) // he finds it in the cloud, and removes it there
				w.upgrade(to)
				w.run(time.Hour)
				if synced := w.get().GetCondition(commonv1.TypeSynced); !strings.Contains(synced.Message, "class") {
					w.Fatalf("it does not say that the class is another: %v", synced)
				}
				v := w.get()
				delete(v.Annotations, "krateo.io/external-create-pending")
				w.Must(w.API.Update(w.Context(), v))
				w.run(time.Hour)
				if n := len(w.cloud.Disks()); n != 1 || w.get().GetCondition(commonv1.TypeReady).Status != "True" {
					w.Errorf("%d disks, want 1 and Ready: %v", n, w.get().Status.Conditions)
				}
			})
		})
	}
}
