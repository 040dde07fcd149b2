package trials

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// warned demands that there is one warning, of this reason, whose text has all words.
func (w *world) warned(reason event.Reason, words ...string) {
	w.Helper()
	var all []event.Event
	for _, e := range w.events {
		if e.Type == event.TypeWarning {
			all = append(all, e)
		}
	}
	if len(all) != 1 || all[0].Reason != reason || !contains(all[0].Message, words) {
		w.Errorf("want one warning %s with the words %q, got %d: %+v", reason, words, len(all), all)
	}
}

// says demands that the object is not Synced, for this reason, and that the text has all words.
func (w *world) says(reason commonv1.ConditionReason, words ...string) {
	w.Helper()
	c := w.get().GetCondition(commonv1.TypeSynced)
	if c.Status == metav1.ConditionTrue || c.Reason != reason || !contains(c.Message, words) {
		w.Errorf("want Synced not True (%s) with the words %q, got %s (%s): %s", reason, words, c.Status, c.Reason,
			c.Message)
	}
}

func contains(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// TestAuthorsKindWithoutStatus: the definition of the kind lacks the subresource status. No
// condition can say so: one event does, and each error of a pass, with what to write into the
// Go type. Nothing is made twice meanwhile, and once the definition is right all is well.
func TestAuthorsKindWithoutStatus(t *testing.T) {
	each(t, classes, func(w *world) {
		w.answer = func(r write) error {
			if r.verb == "patch status" {
				return kerrors.NewNotFound(volumes, key.Name)
			}

			return nil
		}
		w.create()
		w.run(time.Hour)
		remedy := []string{"CustomResourceDefinition", "+kubebuilder:subresource:status", "apply"}
		w.warned("CannotUpdateManagedResource", remedy...)
		if _, err := w.pass(); err == nil || !contains(err.Error(), remedy) {
			w.Errorf("the pass ends with %v, which does not have the words %q", err, remedy)
		}
		w.single()
		w.answer = nil
		w.run(10 * time.Minute)
		w.isReady()
	})
}

// remedies returns causes of a resource that is not found although it was created, and what to do, by class: a
// client that can look it up says itself for how long that may fail.
func (c class) remedies() []string {
	if c.name == findable.name {
		return []string{"RecoveryWindow", "region or account"}
	}

	return []string{"WithCreationGracePeriod", "region"}
}

// TestAuthorsReadsLag: the external system shows what it made after ten minutes, which is
// longer than the provider gives it. One condition and one warning say what may be the cause
// and which option gives more time, and the object becomes ready by itself. Nothing is made
// twice, but for a client that promises to find within ten seconds what it created: once.
func TestAuthorsReadsLag(t *testing.T) {
	each(t, classes, func(w *world) {
		begun, most := time.Now(), 1
		w.cloud.Hidden = func(string) bool { return time.Since(begun) < 10*time.Minute }
		w.create()
		w.run(5 * time.Minute)
		reason, told := commonv1.ReasonCreationPending, event.Reason("ExternalResourceMissing")
		switch w.class.name {
		case opaque.name:
			reason, told = commonv1.ReasonCreationUnresolved, "CannotInitializeManagedResource"
		case findable.name:
			reason, most = commonv1.ReasonCreationUnresolved, 2
			w.events = slices.DeleteFunc(w.events, func(e event.Event) bool {
				return e.Reason == "ExternalResourceRecreated" &&
					strings.Contains(e.Message, "RecoveryWindow") // tells of the second
			})
		}
		w.says(reason, w.class.remedies()...)
		w.warned(told, w.class.remedies()...)
		w.run(25 * time.Minute) // what waits for somebody is looked at after ten poll intervals
		v := w.get()
		if ready, synced := v.GetCondition(commonv1.TypeReady), v.GetCondition(commonv1.TypeSynced); ready.Status != metav1.ConditionTrue || synced.Status != metav1.ConditionTrue {
			w.Errorf("it is not ready once it shows: %v, %v", ready, synced)
		}
		if n := len(w.cloud.Disks()); n > most {
			w.Errorf("there are %d external resources, want %d at most", n, most)
		}
	})
}

// TestAuthorsRegionNotFound: the external system goes on to answer that what is there does not
// exist, as it does for a wrong region. By default another resource is created, with a warning
// that names the option which prevents that. That one does not show, either: a condition and a
// warning say why that may be. No third is created, but for a client that promises to find
// what it created: ever more rarely. Where a creation may be repeated, it is repeated as rarely,
// unless a user asks for something.
func TestAuthorsRegionNotFound(t *testing.T) {
	each(t, classes, func(w *world) {
		w.ready()
		w.events = nil
		w.cloud.Hidden = func(string) bool { return true }
		w.run(30 * time.Second)
		if w.class.name != named.name { // there it is the same resource
			w.warned("ExternalResourceRecreated", "is not found any more", "another region or account",
				"WithRecreationOnRequest")
		}
		passes := w.run(time.Hour)
		reason, most := commonv1.ReasonCreationUnresolved, 2
		switch w.class.name {
		case token.name, named.name:
			reason = commonv1.ReasonCreationPending
		case findable.name:
			most = 4
		}
		w.says(reason, w.class.remedies()...)
		if n := len(w.cloud.Disks()); n > most {
			w.Errorf("there are %d external resources after an hour, want %d at most", n, most)
		}
		if n := w.cloud.Count("Create"); n > 5 || passes > 250 {
			w.Errorf("%d calls of Create and %d passes in an hour, want 5 and 250 at most", n, passes)
		}
		if reason == commonv1.ReasonCreationPending {
			before := w.cloud.Count("Create")
			w.resize(2)
			w.run(time.Minute)
			if n := w.cloud.Count("Create") - before; n != 1 && n != 2 {
				w.Errorf("%d calls of Create after a user's change, want one at once, and one when that does not show", n)
			}
		}
	})
}

// TestAuthorsRegionNotFoundOnRequest: where WithRecreationOnRequest says so, nothing is created,
// one condition says what to do, and the object is ready once the system shows the resource.
func TestAuthorsRegionNotFoundOnRequest(t *testing.T) {
	each(t, assigned, func(w *world) {
		w.options = append(slices.Clone(w.options), managed.WithRecreationOnRequest())
		w.start()
		w.ready()
		w.events = nil
		w.cloud.Hidden = func(string) bool { return true }
		w.run(time.Hour)
		remedy := []string{"is not found any more", "restore it", meta.AnnotationKeyAllowRecreation}
		w.says(commonv1.ReasonRecreationNotRequested, remedy...)
		w.warned("ExternalResourceMissing", remedy...)
		w.cloud.Hidden = nil
		w.run(10 * time.Minute)
		w.isReady()
	})
}

// A label that an author's initializer sets.
const teamLabel = "example.org/team"

func labelling() managed.ReconcilerOption {
	return managed.WithInitializers(managed.InitializerFn(func(_ context.Context, mg resource.Managed) error {
		meta.AddLabels(mg, map[string]string{teamLabel: "storage"})

		return nil
	}))
}

func stripsLabels(body map[string]any) {
	metadata, _ := body["metadata"].(map[string]any)
	delete(metadata, "labels")
}

// TestAuthorsLabelsStripped: a policy drops the label that an initializer sets. The object says
// which one it is and what to change, once, and is not written at each look for that.
func TestAuthorsLabelsStripped(t *testing.T) {
	each(t, classes, func(w *world) {
		w.options = append(slices.Clone(w.options), labelling())
		w.start()
		w.admit = stripsLabels
		w.create()
		w.run(time.Hour)
		remedy := []string{"label " + teamLabel, "change the admission webhook, the admission policy or the proxy"}
		w.says(commonv1.ReasonMarksNotStored, remedy...)
		w.warned("CannotUpdateManagedResource", remedy...)
		if n := len(w.writes); n > 40 {
			w.Errorf("%d writes in an hour", n)
		}
		w.admit = nil
		w.run(20 * time.Minute)
		w.isReady()
	})
}

// TestAuthorsLabelsOfUsersStripped: a policy drops labels, of which the provider sets none. That
// is no matter of the provider's.
func TestAuthorsLabelsOfUsersStripped(t *testing.T) {
	each(t, classes, func(w *world) {
		w.admit = stripsLabels
		w.ready()
		if n := w.warnings(); n > 0 {
			w.Errorf("%d warnings: %v", n, w.events)
		}
	})
}
