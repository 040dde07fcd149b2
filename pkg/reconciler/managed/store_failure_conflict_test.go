package managed

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestWritesWithAPreconditionAfterAConflict verifies that a failed creation, and the results of earlier passes, are
// stored with the read version as a precondition, and the result of a successful creation without one.
func TestWritesWithAPreconditionAfterAConflict(t *testing.T) {
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
		w := newStored(bearing(map[string]string{attempt: ownID}),
			remembering(objectstate.Attempts{Unwritten: tc.unwritten}))
		if err := w.patchAnnotations(t.Context(), map[string]any{attempt: tc.mark}); err != nil ||
			len(w.writes.sent) != 1 || w.writes.sent[0] != tc.want {
			t.Errorf("%s: %v, sent %q, want %q", name, err, w.writes.sent, tc.want)
		}
	}
	w := newStored(&fake.Managed{}, &objectState{})
	if err := w.patchAnnotations(t.Context(), map[string]any{attempt: ownDone}); err != nil ||
		len(w.writes.sent) != 1 || strings.Contains(w.writes.sent[0], "uid") {
		t.Errorf("of an object that has no UID: %v, sent %q", err, w.writes.sent)
	}
}

// A slowCluster does not answer the first read.
type slowCluster struct {
	*liveCluster

	answers bool
}

func (c *slowCluster) GetAPIReader() client.Reader { return c }

func (c *slowCluster) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if !c.answers {
		c.answers = true

		return errors.New("boom")
	}

	return c.liveCluster.Get(ctx, key, o, opts...)
}

// TestAReadAfterAConflictIsRepeated verifies that the live read after a conflict is repeated until it is answered.
func TestAReadAfterAConflictIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const attempt = meta.AnnotationKeyCreateAttempt
		w := newStored(bearing(map[string]string{attempt: ownID}), &objectState{})
		w.r.cluster = &slowCluster{liveCluster: w.liveCluster}
		w.shows.SetResourceVersion("8")
		w.writes.answer = func() error {
			if len(w.writes.sent) < 3 {
				return kerrors.NewConflict(schema.GroupResource{Resource: "things"}, "data", errors.New("stale"))
			}

			return nil
		}
		err := w.patchAnnotations(t.Context(), map[string]any{attempt: ownID + "/failed"})
		var want []string
		for _, version := range []string{"7", "7", "8"} {
			want = append(want, `{"metadata":{"annotations":{"`+attempt+`":"`+ownID+`/failed"},"resourceVersion":"`+
				version+`","uid":"uid-1"}}`)
		}
		if diff := cmp.Diff(want, w.writes.sent); diff != "" || err != nil {
			t.Errorf("error %v, sent, -want +got:\n%s", err, diff)
		}
	})
}
