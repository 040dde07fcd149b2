package managed_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// createsThere has the predecessor of a world create a disk for the object, as it does after a rollback without the
// command.
func (w *world) createsThere(id string) {
	w.cloud.Put(volume.Disk{ID: id, SizeGiB: 1})
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.change(func(v *volume.Volume) {
		at := w.clock.Now().UTC().Format(time.RFC3339)
		v.Finalizers = append(v.Finalizers, theirFinalizer)
		meta.AddAnnotations(v, map[string]string{theirName: id, theirPending: at, theirSucceeded: at})
	})
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.restart()
}

// How objects come to have a resource that a predecessor created since, under another external name: "vol-7".
var supersessions = map[string]func(w *world){
	"nothing could be created here": func(w *world) {
		w.cloud.Before = failing("Create", external.NotCreated(errBoom))
		w.create(func(v *volume.Volume) { v.Spec.SizeGiB = 1 })
		_, _ = w.try()
		w.cloud.Before = nil
		w.createsThere("vol-7")
	},
	"what was taken over is lost": func(w *world) {
		w.cloud.Put(volume.Disk{ID: "vol-0", SizeGiB: 1})
		w.create(left())
		w.later(2)
		w.cloud.Remove("vol-0")
		w.createsThere("vol-7")
	},
	"what was created here is lost": func(w *world) {
		w.create(func(v *volume.Volume) { v.Spec.SizeGiB = 1 })
		w.later(2)
		w.cloud.Remove(meta.GetExternalName(w.get()))
		w.createsThere("vol-7")
	},
	"the name here was given before, and the change-over was called off": func(w *world) {
		w.create(func(v *volume.Volume) {
			left()(v)
			v.Annotations[meta.AnnotationKeyExternalName] = "data"
		})
		w.createsThere("vol-7")
	},
}

// What a user may answer: to which of the two external resources the object belongs.
var supersessionAnswers = map[string]func(*volume.Volume){
	"theirs": func(v *volume.Volume) { v.Annotations[meta.AnnotationKeyExternalName] = "vol-7" },
	"ours": func(v *volume.Volume) {
		meta.RemoveAnnotations(v, theirName, theirPending, theirSucceeded)
	},
}

// TestWhatAPredecessorCreatedSinceIsAskedAbout verifies that a resource that a predecessor has created since is
// neither created again nor left by a deletion: the user is asked.
func TestWhatAPredecessorCreatedSinceIsAskedAbout(t *testing.T) {
	options := map[string][]managed.ReconcilerOption{
		"opaque":                nil,
		"the name is initial":   {managed.WithInitializers(managed.NameAsExternalName{})},
		"token":                 {managed.WithCreationTokens()},
		"annotations go":        {managed.WithRetiredAnnotations(theirName, theirPending, theirSucceeded)},
		"on request":            {managed.WithRecreationOnRequest()},
		"the finalizer is kept": {managed.WithIgnoredFinalizers(theirFinalizer)},
	}
	for how, happens := range supersessions {
		for which, o := range options {
			for answer, answers := range supersessionAnswers {
				for _, deleted := range []bool{false, true} {
					w := newWorld(t, append([]managed.ReconcilerOption{managed.WithPredecessor("crossplane.io"),
						managed.WithRetiredFinalizers(theirFinalizer)}, o...)...)
					happens(w)
					if deleted {
						w.delete()
					}
					w.taken()
					w.later(4)
					_, calls, _ := w.taken()
					c := w.get().GetCondition("Synced")
					if strings.Contains(calls, "Create") || len(w.cloud.Disks()) != 1 ||
						c.Reason != "CreationUnresolved" || !strings.Contains(c.Message, `"vol-7"`) ||
						!strings.Contains(c.Message, theirName) {
						t.Errorf("%s, %s, deleted %t: calls %s, disks %v, and it says %v", how, which, deleted,
							calls, w.cloud.Disks(), c)
						continue
					}
					w.change(func(v *volume.Volume) {
						delete(v.Annotations, meta.AnnotationKeyAllowRecreation)
						answers(v)
					})
					w.later(5)
					_, calls, _ = w.taken()
					if got, want := w.ends(deleted, calls), supersessionEnd(answer, which, how, deleted); got != want {
						t.Errorf("%s, %s, deleted %t, the answer is %s: it ends with %s, want %s; calls %s, disks %v, object %v", how,
							which, deleted, answer, got, want, calls, w.cloud.Disks(), w.get())
					}
				}
			}
		}
	}
}

// ends checks how an object has ended, and what is left of the predecessor's resource.
func (w *world) ends(deleted bool, calls string) string {
	theirs := slices.ContainsFunc(w.cloud.Disks(), func(d volume.Disk) bool { return d.ID == "vol-7" })
	switch created := strings.Contains(calls, "Create"); {
	case deleted && !w.gone():
		return "an object"
	case deleted && theirs, !deleted && created && theirs && len(w.cloud.Disks()) == 2:
		return "theirs left"
	case deleted:
		return "nothing"
	case !created && meta.GetExternalName(w.get()) == "vol-7" && w.get().GetCondition("Synced").Status == "True":
		return "theirs"
	default:
		return "a question"
	}
}

// supersessionEnd returns how an object is to end that was answered in a way.
func supersessionEnd(answer, which, how string, deleted bool) string {
	switch {
	case answer == "theirs" && deleted:
		return "nothing"
	case answer == "theirs":
		return "theirs"
	case which == "on request" && strings.HasSuffix(how, "lost") && !deleted:
		return "a question" // that of the option
	default:
		return "theirs left"
	}
}

// TestASupersedingCreationIsReported verifies that a second resource of a predecessor is reported once, and on
// deletion.
func TestASupersedingCreationIsReported(t *testing.T) {
	w := newWorld(t, managed.WithPredecessor("crossplane.io"), managed.WithRetiredFinalizers(theirFinalizer))
	w.create(func(v *volume.Volume) { v.Spec.SizeGiB = 1 })
	w.later(2)
	w.createsThere("vol-7")
	w.taken()
	w.later(3)
	if _, calls, events := w.taken(); strings.Count(events, "Warning/ExternalResourceLeft") != 1 ||
		strings.Contains(calls, "Create") || w.get().GetCondition("Synced").Status != "True" {
		t.Errorf("calls %s, events %s, and it says %v", calls, events, w.get().GetCondition("Synced"))
	}
	w.delete()
	w.later(4)
	if w.gone() || len(w.cloud.Disks()) != 1 || w.get().GetCondition("Synced").Reason != "CreationUnresolved" ||
		w.get().GetCondition("Ready").Reason != "Deleting" {
		t.Errorf("gone %t, disks %v", w.gone(), w.cloud.Disks())
	}
	w.change(supersessionAnswers["theirs"])
	w.later(4)
	if !w.gone() || len(w.cloud.Disks()) != 0 {
		t.Errorf("gone %t, disks %v", w.gone(), w.cloud.Disks())
	}
}

// TestUnderAChosenNameNothingIsCreatedBesideWhatAPredecessorCreatedSince verifies that the same holds with
// deterministic names.
func TestUnderAChosenNameNothingIsCreatedBesideWhatAPredecessorCreatedSince(t *testing.T) {
	w := newWorld(t, managed.WithPredecessor("crossplane.io"), managed.WithRetiredFinalizers(theirFinalizer),
		managed.WithDeterministicExternalName(true))
	w.cloud.Named = true
	w.cloud.Before = failing("Create", external.NotCreated(errBoom))
	w.create(func(v *volume.Volume) { v.Spec.SizeGiB = 1 })
	_, _ = w.try()
	w.cloud.Before = nil
	w.createsThere("vol-7")
	w.taken()
	w.later(3)
	if _, calls, _ := w.taken(); strings.Contains(calls, "Create") ||
		w.get().GetCondition("Synced").Reason != "CreationUnresolved" {
		t.Errorf("calls %s, and it says %v", calls, w.get().GetCondition("Synced"))
	}
}

// TestWhatAPredecessorCreatedBeforeIsNotAskedAbout verifies that an earlier creation of a predecessor is not asked
// about.
func TestWhatAPredecessorCreatedBeforeIsNotAskedAbout(t *testing.T) {
	w := succeeding(t)
	w.create(left())
	w.later(2)
	w.cloud.Put(volume.Disk{ID: "vol-5", SizeGiB: 1})
	w.change(func(v *volume.Volume) { v.Annotations[meta.AnnotationKeyExternalName] = "vol-5" })
	w.restart()
	w.later(2)
	w.cloud.Remove("vol-5")
	w.later(4)
	if n := w.cloud.Count("Create"); n != 1 || w.get().GetCondition("Synced").Status != "True" {
		t.Errorf("%d calls of Create, and it says %v", n, w.get().GetCondition("Synced"))
	}
	if _, _, events := w.taken(); strings.Contains(events, "ExternalResourceLeft") {
		t.Error(events)
	}
}

// TestOnlyARecordOfACreationKeepsThePredecessorsFromCounting verifies that only a record of a creation here
// precedes a pending creation of a predecessor.
func TestOnlyARecordOfACreationKeepsThePredecessorsFromCounting(t *testing.T) {
	at := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }
	for reason, marks := range map[string]map[string]string{
		"a name in Git, which is theirs": {meta.AnnotationKeyExternalName: "data", theirName: "data"},
		"a name in Git":                  {meta.AnnotationKeyExternalName: "data"},
		"a name in Git, which is not":    {meta.AnnotationKeyExternalName: "data", theirName: "vol-0"},
		"fields that were filled in":     {meta.AnnotationKeyLateInitialized: "size"},
		"the external system":            {meta.AnnotationKeyBackendIdentity: "north"},
		"a creation that failed before":  {meta.AnnotationKeyExternalCreateFailed: at(48 * time.Hour)},
		"their success, of another name": {
			meta.AnnotationKeyExternalName: "data", theirName: "vol-7",
			theirSucceeded: at(2 * time.Hour),
		},
		"a failure since, of another name": {
			meta.AnnotationKeyExternalName: "data", theirName: "vol-7",
			theirSucceeded:                         at(2 * time.Hour),
			meta.AnnotationKeyExternalCreateFailed: at(time.Minute),
		},
		"nothing that this runtime records": {},
	} {
		w := newWorld(t, managed.WithPredecessor("crossplane.io"), managed.WithRetiredFinalizers(theirFinalizer))
		w.cloud.Account = "north"
		w.create(func(v *volume.Volume) {
			v.Spec.SizeGiB, v.Finalizers = 1, []string{theirFinalizer}
			v.Annotations = marks
			v.Annotations[theirPending] = at(time.Hour)
		})
		w.later(3)
		if n := w.cloud.Count("Create"); n != 0 || w.get().GetCondition("Synced").Status != "False" {
			t.Errorf("%s: %d calls of Create; %v", reason, n, w.get().GetCondition("Synced"))
		}
		if own := marks[meta.AnnotationKeyExternalName]; own != "" && meta.GetExternalName(w.get()) != own {
			t.Errorf("%s: the external name became %q", reason, meta.GetExternalName(w.get()))
		}
	}
}

// TestWhatAPredecessorCreatedSinceIsTakenOverByTheAnswer verifies that the answer gives the object the
// predecessor's record, so that the resource is owned without a mark.
func TestWhatAPredecessorCreatedSinceIsTakenOverByTheAnswer(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		owner := managed.OwnerOurs
		w := newWorld(t, managed.WithPredecessor("crossplane.io"), managed.WithRetiredFinalizers(theirFinalizer))
		w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return owning{c, &owner} })
		supersessions["what was created here is lost"](w)
		owner = managed.OwnerNone
		if deleted {
			w.delete()
		}
		w.later(3)
		w.taken()
		w.change(supersessionAnswers["theirs"])
		w.later(4)
		_, calls, _ := w.taken()
		if got := w.ends(deleted, calls); deleted && got != "nothing" || !deleted && got != "theirs" {
			t.Errorf("deleted %t: it ends with %s, calls %s, object %v", deleted, got, calls, w.get())
		}
	}
}

// TestWhatAPredecessorCreatedSinceUnderOurNameIsTheLastCreation verifies that a predecessor's later creation under
// the same name is the last creation of the object, and is not repeated.
func TestWhatAPredecessorCreatedSinceUnderOurNameIsTheLastCreation(t *testing.T) {
	w := newWorld(t, managed.WithPredecessor("crossplane.io"), managed.WithRetiredFinalizers(theirFinalizer))
	w.cloud.Before = failing("Create", external.NotCreated(errBoom))
	w.create(func(v *volume.Volume) {
		v.Spec.SizeGiB = 1
		v.Annotations = map[string]string{meta.AnnotationKeyExternalName: "vol-9"}
	})
	_, _ = w.try()
	w.cloud.Before = nil
	w.createsThere("vol-9")
	w.cloud.Remove("vol-9")
	w.taken()
	w.later(4)
	_, calls, _ := w.taken()
	if v := w.get(); strings.Contains(calls, "Create") || v.GetCondition("Synced").Reason != "CreationUnresolved" ||
		v.Annotations[meta.AnnotationKeyCreateAttempt] != "" ||
		v.Annotations[meta.AnnotationKeyExternalCreateSucceeded] != v.Annotations[theirSucceeded] {
		t.Errorf("calls %s, annotations %v, and it says %v", calls, v.Annotations, v.GetCondition("Synced"))
	}
}

// TestMarksOfAPredecessorMayStayAfterAnAnswer verifies that removing our marks is an answer, although the
// predecessor's stay.
func TestMarksOfAPredecessorMayStayAfterAnAnswer(t *testing.T) {
	for _, name := range []string{"vol-0", "vol-5"} {
		for _, deleted := range []bool{false, true} {
			w := succeeding(t)
			w.cloud.Remove("vol-0")
			w.create(left())
			w.later(1)
			w.change(func(v *volume.Volume) { v.Annotations[meta.AnnotationKeyExternalName] = name })
			w.later(3)
			if c := w.get().GetCondition("Synced"); c.Reason != "CreationUnresolved" || w.cloud.Count("Create") != 0 {
				t.Errorf("%s: %d calls of Create, and it says %v", name, w.cloud.Count("Create"), c)
			}
			w.change(func(v *volume.Volume) {
				meta.RemoveAnnotations(v, meta.AnnotationKeyExternalCreatePending,
					meta.AnnotationKeyExternalCreateSucceeded)
			})
			w.restart()
			if deleted {
				w.delete()
			}
			w.later(4)
			if n := w.cloud.Count("Create"); deleted && !w.gone() ||
				!deleted && (n != 1 || w.get().GetCondition("Synced").Status != "True") {
				t.Errorf("%s, deleted %t: %d calls of Create, object %v", name, deleted, n, w.get())
			}
		}
	}
}

// asksAboutTheirs has a world ask its user about a creation that the predecessor began.
func asksAboutTheirs(w *world) {
	w.cloud.Remove("vol-0")
	w.create(func(v *volume.Volume) {
		left()(v)
		meta.RemoveAnnotations(v, theirName, theirSucceeded)
	})
	w.later(3)
}

// TestWhatAPredecessorCreatedAfterAQuestionIsAskedAbout verifies that an answer does not cover later creations of
// the predecessor.
func TestWhatAPredecessorCreatedAfterAQuestionIsAskedAbout(t *testing.T) {
	const pending = meta.AnnotationKeyExternalCreatePending
	for when, answered := range map[string]struct{ before, after []string }{
		"answered before the predecessor's return": {before: []string{theirPending, pending}},
		"answered after it":                        {before: []string{theirPending}, after: []string{pending}},
		"answered after it alone":                  {after: []string{pending}},
	} {
		for answer, answers := range supersessionAnswers {
			for _, deleted := range []bool{false, true} {
				w := succeeding(t)
				asksAboutTheirs(w)
				w.change(func(v *volume.Volume) { meta.RemoveAnnotations(v, answered.before...) })
				w.createsThere("vol-7")
				if deleted {
					w.delete()
				}
				w.later(4)
				w.change(func(v *volume.Volume) { meta.RemoveAnnotations(v, answered.after...) })
				w.later(4)
				_, calls, _ := w.taken()
				if c := w.get().GetCondition("Synced"); strings.Contains(calls, "Create") ||
					c.Reason != "CreationUnresolved" || !strings.Contains(c.Message, `"vol-7"`) {
					t.Errorf("%s, deleted %t: calls %s, and it says %v", when, deleted, calls, c)

					continue
				}
				w.change(answers)
				w.later(5)
				_, calls, _ = w.taken()
				if got, want := w.ends(deleted, calls), supersessionEnd(answer, "", when, deleted); got != want {
					t.Errorf("%s, deleted %t, the answer is %s: it ends with %s, want %s; calls %s, object %v",
						when, deleted, answer, got, want, calls, w.get())
				}
			}
		}
	}
}

// TestAnAnswerHoldsForALaterQuestion verifies that a second answer covers the marks of the predecessor.
func TestAnAnswerHoldsForALaterQuestion(t *testing.T) {
	record := []string{
		meta.AnnotationKeyExternalCreatePending, meta.AnnotationKeyExternalCreateSucceeded,
		meta.AnnotationKeyCreateAttempt,
	}
	for reason, then := range map[string]struct {
		fails  error
		theirs bool
	}{
		"of theirs": {external.NotCreated(errBoom), true},
		"of ours":   {external.MaybeCreated(errBoom), false},
	} {
		w := succeeding(t)
		asksAboutTheirs(w)
		w.cloud.Before = failing("Create", then.fails)
		w.change(func(v *volume.Volume) {
			meta.RemoveAnnotations(v, record...)
			v.Annotations[meta.AnnotationKeyExternalName] = "vol-9"
		})
		w.clock.SetTime(w.clock.Now().Add(time.Minute))
		_, _ = w.try()
		w.cloud.Before = nil
		if then.theirs {
			w.createsThere("vol-9")
			w.cloud.Remove("vol-9")
		}
		w.later(4)
		if c := w.get().GetCondition("Synced"); c.Status != "False" {
			t.Errorf("%s: nobody is asked: %v", reason, c)
		}
		w.taken()
		w.change(func(v *volume.Volume) { meta.RemoveAnnotations(v, record...) })
		w.restart()
		w.later(4)
		_, calls, _ := w.taken()
		if strings.Count(calls, "Create") != 1 || w.get().GetCondition("Synced").Status != "True" {
			t.Errorf("%s: calls %s, object %v", reason, calls, w.get())
		}
	}
}

// TestASupersededAttemptIsReported verifies that an unresolved attempt is reported once the user has chosen the
// predecessor's resource.
func TestASupersededAttemptIsReported(t *testing.T) {
	w := newWorld(t, managed.WithPredecessor("crossplane.io"), managed.WithRetiredFinalizers(theirFinalizer))
	w.cloud.After = lost()
	w.create(func(v *volume.Volume) { v.Spec.SizeGiB = 1 })
	_, _ = w.try()
	w.cloud.After = nil
	id := w.get().Annotations[meta.AnnotationKeyCreateAttempt]
	w.createsThere("vol-7")
	w.later(2)
	w.taken()
	w.change(supersessionAnswers["theirs"])
	w.later(3)
	_, calls, events := w.taken()
	if id == "" || strings.Contains(calls, "Create") || strings.Count(events, "ExternalResourceLeft") != 1 {
		t.Errorf("attempt %q: calls %s, events %s", id, calls, events)
	}
}
