package trials

import (
	"slices"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/moorage-dev/moorage/pkg/event"
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
