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

// Warned demands that there is one warning, of this reason, whose text has all words.
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

// Says demands that the object is not Synced, for this reason, and that the text has all words.
func (w *world) says(reason commonv1.ConditionReason, words ...string) {
	w.Helper()
	c := w.get().GetCondition(commonv1.TypeSynced)
	if c.Status == metav1.ConditionTrue || c.Reason != reason || !contains(c.Message, words) {
		w.Errorf("want Synced not True (%s) with the words %q, got %s (%s): %s", reason, words, c.Status, c.Reason, c.Message)
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

// A label that an author's initializer sets.
const teamLabel = "example.org/team"

func labelling() managed.ReconcilerOption {
	return managed.WithInitializers(managed.InitializerFn(func(_ context.Context, mg resource.Managed) error {
		meta.AddLabels(mg, map[string]string{teamLabel: "harbour"})

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
