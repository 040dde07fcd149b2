package managed_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A rewinding world has an API server that can be restored while a process runs.
type rewinding struct {
	*world

	detector *controller.RestoreDetector
	logged   []string
}

// begins starts a process, which knows nothing of what another one knew.
func (w *rewinding) begins() {
	w.detector = controller.NewRestoreDetector()
	log := funcr.New(func(_, text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.logged = append(w.logged, text)
	}, funcr.Options{})
	w.o = append(w.o, managed.WithRestoreDetector(w.detector), managed.WithLogger(logging.NewLogrLogger(log)))
	w.restart()
}

// rewind puts back what the API server had of the object, which may be nothing.
func (w *rewinding) rewind(to *volume.Volume) {
	w.Helper()
	now := w.get()
	now.SetFinalizers(nil)
	w.Must(w.API.Update(w.Context(), now))
	w.Must(w.API.Delete(w.Context(), now))
	if to != nil {
		to = to.DeepCopyObject().(*volume.Volume)
		to.SetResourceVersion("")
		w.Create(to)
	}
}

// ends has the process notice the restore, and end.
func (w *rewinding) ends() {
	w.Helper()
	w.detector.Seen(schema.GroupVersionKind(volume.Kind).GroupKind(), "874", "219")
	if err := w.detector.Start(w.Context()); !errors.Is(err, controller.ErrRestored) {
		w.Errorf("the process ends with %v", err)
	}
}

// said says whether a line of the log has all of the parts.
func (w *rewinding) said(parts ...string) bool {
	for _, line := range w.logged {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			return true
		}
	}

	return false
}

// rewound runs a story for each class whose names the external system assigns, in virtual time.
func rewound(t *testing.T, story func(w *rewinding)) {
	t.Helper()
	for _, class := range []string{"opaque", "findable", "token"} {
		t.Run(class, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &rewinding{world: unnamedClasses(t)[class]}
				w.begins()
				story(w)
			})
		})
	}
}

// goesOn starts the next process, and makes passes for an hour.
func (w *rewinding) goesOn() {
	w.Helper()
	w.begins()
	for range 6 {
		_, _ = w.try()
		w.clock.SetTime(w.clock.Now().Add(10 * time.Minute))
	}
	if disks := w.cloud.Disks(); len(disks) != 1 {
		w.Errorf("there are %d external resources; the object is %+v", len(disks), w.get())
	}
}

// TestARestoreTakesNoResource verifies that the record is written back after a restore to before any step of the
// creation, so that the next process creates no second resource.
func TestARestoreTakesNoResource(t *testing.T) {
	stories := map[string]func(w *rewinding) (snapshot *volume.Volume){
		"before the intent": func(w *rewinding) *volume.Volume {
			snapshot := w.get()
			w.pass()

			return snapshot
		},
		"before the intent, and the result is unknown": func(w *rewinding) *volume.Volume {
			snapshot := w.get()
			w.cloud.After = lost()
			_, _ = w.try()

			return snapshot
		},
		"between intent and result": func(w *rewinding) (snapshot *volume.Volume) {
			w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
				if call == "Create" {
					snapshot = w.get()
				}

				return nil
			}
			w.pass()

			return snapshot
		},
		"before it was tried again": func(w *rewinding) *volume.Volume {
			w.cloud.Before = failing("Create", external.NotCreated(errLost))
			_, _ = w.try()
			snapshot := w.get()
			w.cloud.Before = nil
			w.pass()

			return snapshot
		},
		"before it was tried again, and the result is unknown": func(w *rewinding) *volume.Volume {
			w.cloud.Before = failing("Create", external.NotCreated(errLost))
			_, _ = w.try()
			snapshot := w.get()
			w.cloud.Before, w.cloud.After = nil, lost()
			_, _ = w.try()

			return snapshot
		},
	}
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			rewound(t, func(w *rewinding) {
				w.create(nil)
				snapshot := story(w)
				w.cloud.Before = nil
				w.clock.SetTime(w.clock.Now().Add(time.Minute))
				attempt, _, _ := strings.Cut(w.get().Annotations[meta.AnnotationKeyCreateAttempt], "/")
				name := w.get().Annotations[meta.AnnotationKeyExternalName]
				w.rewind(snapshot)
				w.taken()
				w.ends()
				w.expect("patch", "", "")
				v := w.get()
				if got, _, _ := strings.Cut(v.Annotations[meta.AnnotationKeyCreateAttempt], "/"); got != attempt ||
					v.Annotations[meta.AnnotationKeyExternalName] != name {
					w.Errorf("want the attempt %s and the name %q, got %v", attempt, name, v.Annotations)
				}
				if _, err := w.try(); err != nil || w.cloud.Count("Observe") != 0 {
					w.Errorf("a pass looks once more: %v", err)
				}
				w.goesOn()
			})
		})
	}
}

// TestARestoreWithinCreate verifies that an object with a pending Create is left to its pass.
func TestARestoreWithinCreate(t *testing.T) {
	for name, answer := range map[string]error{"Answered": nil, "Lost": errLost} {
		t.Run(name, func(t *testing.T) {
			rewound(t, func(w *rewinding) {
				w.create(nil)
				snapshot, ended := w.get(), make(chan struct{})
				w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
					if call != "Create" {
						return nil
					}
					w.rewind(snapshot)
					go func() {
						defer close(ended)
						w.ends()
					}()
					<-time.After(5 * time.Second)
					if marks := w.get().Annotations; len(marks) != 0 {
						w.Errorf("the object is written while its pass is under way: %v", marks)
					}
					if answer != nil {
						meta.RemoveAnnotations(mg, meta.AnnotationKeyExternalName)
					}

					return answer
				}
				_, _ = w.try()
				<-ended
				if v := w.get(); v.Annotations[meta.AnnotationKeyCreateAttempt] == "" {
					w.Errorf("the record is %v", v.Annotations)
				}
				w.cloud.After = nil
				w.goesOn()
			})
		})
	}
}

// TestARestoreBetweenTwoSteps verifies that a pass changes nothing after a restore.
func TestARestoreBetweenTwoSteps(t *testing.T) {
	rewound(t, func(w *rewinding) {
		w.create(nil)
		w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Observe" {
				w.detector.Seen(schema.GroupVersionKind(volume.Kind).GroupKind(), "874", "219")
			}

			return nil
		}
		_, _ = w.try()
		if n := w.cloud.Count("Create"); n != 0 {
			w.Errorf("%d creations", n)
		}
	})
}

// TestARestoreWithoutTheObject verifies that the resource of an object that is not in the snapshot, or has another
// record, is reported.
func TestARestoreWithoutTheObject(t *testing.T) {
	rewound(t, func(w *rewinding) {
		w.create(nil)
		w.pass()
		w.rewind(nil)
		w.taken()
		w.ends()
		w.expect("", "", "")
		if !w.said("not in the restored state", `"namespace"="default"`, `"name"="data"`, `"externalName"="vol-1"`,
			"delete it, or create its object again") {
			w.Errorf("logged: %q", w.logged)
		}
	})
	rewound(t, func(w *rewinding) {
		w.create(nil)
		w.pass()
		other := w.get()
		other.Annotations[meta.AnnotationKeyCreateAttempt] = "ffffffff/succeeded"
		w.rewind(other)
		w.taken()
		w.ends()
		w.expect("", "", "")
		if !w.said("record of another creation", `"name"="data"`, `"externalName"="vol-1"`) {
			w.Errorf("logged: %q", w.logged)
		}
	})
}

// TestARestoreThatIsNotWrittenBack verifies that rejected writes or lists are reported until the process ends.
func TestARestoreThatIsNotWrittenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(w *rewinding)
		want  []string
	}{
		"Writes": {
			func(w *rewinding) { w.answer = func(context.Context, string) error { return errLost } },
			[]string{`"objects"=1`, `"names"="default/data"`, "is not written back"},
		},
		"Lists": {func(w *rewinding) { w.failList = errLost }, []string{`"objects"=1`, "cannot list the objects"}},
	} {
		t.Run(name, func(t *testing.T) {
			rewound(t, func(w *rewinding) {
				w.create(nil)
				snapshot := w.get()
				w.pass()
				w.rewind(snapshot)
				tc.spoil(w)
				began := time.Now()
				w.ends()
				if took := time.Since(began); took < time.Second || took > 30*time.Second {
					w.Errorf("it took %s", took)
				}
				if !w.said(tc.want...) {
					w.Errorf("logged: %q", w.logged)
				}
			})
		})
	}
}

// TestARestoreOfWhatWasNotLookedAt verifies that a new process writes back the records of cached objects.
func TestARestoreOfWhatWasNotLookedAt(t *testing.T) {
	rewound(t, func(w *rewinding) {
		w.o = append(w.o, managed.WithSpreadAfterRestart(true))
		w.create(nil)
		snapshot := w.get()
		w.pass()
		w.begins()
		w.cloud.Forget()
		w.pass()
		if n := w.cloud.Count("Observe"); n != 0 {
			w.Fatalf("%d observations", n)
		}
		w.lag = w.get()
		w.rewind(snapshot)
		w.ends()
		w.lag = nil
		w.goesOn()
		if n := w.cloud.Count("Create"); n != 0 {
			w.Errorf("%d creations", n)
		}
	})
}

// onePage leaves the one object of a list that the options ask for.
func onePage(all client.ObjectList, o []client.ListOption) error {
	list := all.(*volume.List) // no other kind is listed
	at, err := strconv.Atoi("0" + (&client.ListOptions{}).ApplyOptions(o).Continue)
	if err != nil {
		return err
	}
	if at+1 < len(list.Items) {
		list.Continue = strconv.Itoa(at + 1)
	}
	list.Items = list.Items[at : at+1]

	return nil
}

// TestARestoreOfManyObjects verifies that all pages of a list are read.
func TestARestoreOfManyObjects(t *testing.T) {
	rewound(t, func(w *rewinding) {
		w.Create(&volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "another", UID: "uid-0"}})
		w.create(nil)
		snapshot := w.get()
		w.pass()
		w.rewind(snapshot)
		w.paged = true
		w.ends()
		w.goesOn()
	})
}

// TestARestoreInNamespaces verifies that a provider without permission to list all namespaces lists its own.
func TestARestoreInNamespaces(t *testing.T) {
	rewound(t, func(w *rewinding) {
		w.create(nil)
		snapshot := w.get()
		w.pass()
		w.rewind(snapshot)
		w.onlyIn = key.Namespace
		w.ends()
		w.goesOn()
	})
}

// TestARestoreOfWhatIsWell: where nothing is missing nothing is written.
func TestARestoreOfWhatIsWell(t *testing.T) {
	for name, w := range map[string]*world{
		"assigned": newWorld(t), "named": newWorld(t, managed.WithDeterministicExternalName(true)),
	} {
		r := &rewinding{world: w}
		w.cloud.Named = name == "named"
		r.begins()
		w.create(nil)
		w.pass()
		w.taken()
		r.ends()
		w.expect("", "", "")
		if r.said("left over") || r.said("not written back") {
			t.Errorf("%s: logged: %q", name, r.logged)
		}
	}
}
