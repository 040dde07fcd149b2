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

// warned checks that there is one warning, with this reason and all these words.
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

// says checks that the condition Synced is false, with this reason and all these words.
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

// TestAuthorsKindWithoutStatus checks a kind whose definition lacks the subresource status. No
// condition can report that: one event does, and the error of each pass, with the marker that
// the Go type needs. Nothing is created twice, and once the definition is right the object is
// ready.
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

// remedies returns words of the causes of a created resource that is not found, and of the remedies, by class: a
// client that can look it up declares itself for how long that may fail.
func (c class) remedies() []string {
	if c.name == findable.name {
		return []string{"RecoveryWindow", "region or account"}
	}

	return []string{"WithCreationGracePeriod", "region"}
}

// TestAuthorsReadsLag checks an external system that shows a created resource after ten
// minutes, longer than the provider waits. One condition and one warning name the possible
// cause and the option for more time, and the object becomes ready by itself. Nothing is
// created twice, except once by a client that promises to find its resources within ten
// seconds.
func TestAuthorsReadsLag(t *testing.T) {
	each(t, classes, func(w *world) {
		begun, most := time.Now(), 1
		w.cloud.Hidden = func(string) bool { return time.Since(begun) < 10*time.Minute }
		w.create()
		w.run(5 * time.Minute)
		reason, warning := commonv1.ReasonCreationPending, event.Reason("ExternalResourceMissing")
		switch w.class.name {
		case opaque.name:
			reason, warning = commonv1.ReasonCreationUnresolved, "CannotInitializeManagedResource"
		case findable.name:
			reason, most = commonv1.ReasonCreationUnresolved, 2
			w.events = slices.DeleteFunc(w.events, func(e event.Event) bool {
				return e.Reason == "ExternalResourceRecreated" &&
					strings.Contains(e.Message, "RecoveryWindow") // about the second one
			})
		}
		w.says(reason, w.class.remedies()...)
		w.warned(warning, w.class.remedies()...)
		w.run(25 * time.Minute) // an object that waits for its user is reconciled every ten poll intervals
		v := w.get()
		ready, synced := v.GetCondition(commonv1.TypeReady), v.GetCondition(commonv1.TypeSynced)
		if ready.Status != metav1.ConditionTrue || synced.Status != metav1.ConditionTrue {
			w.Errorf("it is not ready once it shows: %v, %v", ready, synced)
		}
		if n := len(w.cloud.Disks()); n > most {
			w.Errorf("there are %d external resources, want %d at most", n, most)
		}
	})
}

// TestAuthorsRegionNotFound checks an external system that keeps answering that existing
// resources do not exist, as for a wrong region. By default another resource is created, with a
// warning that names the option to prevent that. That one does not show either: a condition and
// a warning name the possible causes. No third is created, except by a client that promises to
// find its resources: ever more rarely. Where a creation is safe to repeat, it is repeated as
// rarely, unless a user changes the object.
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

// TestAuthorsRegionNotFoundOnRequest checks that with WithRecreationOnRequest nothing is
// created, one condition names the remedy, and the object is ready once the system shows the
// resource.
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

// TestAuthorsLabelsStripped checks a policy that drops the label of an initializer. The object
// names the label and the remedy once, and is not written by each pass.
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

// TestAuthorsLabelsOfUsersStripped checks that a policy that drops labels of users, and none of
// the provider, has no effect.
func TestAuthorsLabelsOfUsersStripped(t *testing.T) {
	each(t, classes, func(w *world) {
		w.admit = stripsLabels
		w.ready()
		if n := w.warnings(); n > 0 {
			w.Errorf("%d warnings: %v", n, w.events)
		}
	})
}
