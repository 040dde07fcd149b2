package managed

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// That a creation came to nothing, and what an earlier pass could not store, is stored over the
// version that was read, and over no later one. How a creation ended that made something is stored
// whatever else has changed.
func TestWhatIsStoredOverOneVersionOnly(t *testing.T) {
	const attempt = meta.AnnotationKeyCreateAttempt
	late := map[string]string{attempt: ownDone}
	over := func(mark, version string) string {
		return `{"metadata":{"annotations":{"` + attempt + `":"` + mark + `"},` + version + `"uid":"uid-1"}}`
	}
	for name, tc := range map[string]struct {
		mark      string
		unwritten map[string]string
		want      string
	}{
		"it came to nothing":   {ownID + "/failed", nil, over(ownID+"/failed", `"resourceVersion":"7",`)},
		"it made something":    {ownDone, nil, over(ownDone, "")},
		"of a pass before":     {ownDone, late, over(ownDone, `"resourceVersion":"7",`)},
		"both":                 {ownID + "/failed", late, over(ownID+"/failed", `"resourceVersion":"7",`)},
		"nothing to be stored": {ownDone, map[string]string{}, over(ownDone, "")},
	} {
		w := newStored(bearing(map[string]string{attempt: ownID}), remembering(objectstate.State{}, objectstate.Cold{Unwritten: tc.unwritten}))
		if err := w.patchAnnotations(t.Context(), map[string]any{attempt: tc.mark}); err != nil || len(w.writes.sent) != 1 || w.writes.sent[0] != tc.want {
			t.Errorf("%s: %v, sent %q, want %q", name, err, w.writes.sent, tc.want)
		}
	}
}
