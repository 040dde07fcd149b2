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

// TestClassChangesBetweenReleases upgrades a provider to a release of another class while the result of a Create is
// unknown. The new release cannot repeat the attempt, or look it up: the object is Ready, or names the remedy, there
// is one disk, and a disk that is left after the deletion is reported.
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
						if !w.reported() {
							w.Errorf("it is neither Ready nor names the remedy: %v", w.get().Status.Conditions)
						}
						w.Delete(atKey())
						w.run(time.Hour)
						if len(w.cloud.Disks()) > 0 && (w.Gone(atKey()) || !w.reported()) {
							w.Errorf("a disk is left without a word; gone: %t", w.Gone(atKey()))
						}
					})
				})
			}
		}
	}
}

// interrupt creates an object whose Create ends with an unknown result, in one of several ways.
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
		w.answer = func(write) error { // no write is stored any more
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

// upgrade starts a release of another class. The cloud offers what that class needs. Disks of the class opaque have
// no token.
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

// TestClassChangeIsResolvedByAUser checks that a user who follows the message of such an object resolves it, in the
// class of the new release.
func TestClassChangeIsResolvedByAUser(t *testing.T) {
	for _, to := range []class{findable, token, named} {
		t.Run(to.name, func(t *testing.T) {
			in(t, opaque, func(w *world) {
				w.interrupt("lost")
				w.cloud.Remove(w.cloud.Disks()[0].ID) // the user finds it in the cloud, and removes it there
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
