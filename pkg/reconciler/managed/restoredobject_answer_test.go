package managed

import (
	"context"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

// A restoredClient writes over a version that an API server has given again after a restore: the object lacks one
// annotation.
type restoredClient struct {
	client.Client

	lacks string
}

func (c restoredClient) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	err := c.Client.Patch(ctx, o, p, opts...)
	meta.RemoveAnnotations(o, c.lacks)

	return err
}

// TestAPassEndsIfTheRecordWasLost verifies that a pass ends if the answer to its write lacks the external name or a
// mark, although the resource version was the same.
func TestAPassEndsIfTheRecordWasLost(t *testing.T) {
	const name, pending = meta.AnnotationKeyExternalName, meta.AnnotationKeyExternalCreatePending
	for reason, tc := range map[string]struct {
		lacks, removes string
		conflict       bool
	}{
		"the external name is gone":            {name, "", true},
		"the time of the attempt is gone":      {pending, "", true},
		"what is not of the record is gone":    {"color", "", false},
		"nothing is gone":                      {"", "", false},
		"the pass itself removed what is gone": {pending, pending, false},
	} {
		w := newStored(bearing(map[string]string{name: "vol-1", pending: early, "color": "red"}), &objectState{})
		w.r.client = restoredClient{w.writes, tc.lacks}
		meta.RemoveAnnotations(w.mg, tc.removes)
		meta.AddAnnotations(w.mg, map[string]string{"size": "1"})
		err := w.store(t.Context(), telemetry.Result)
		if kerrors.IsConflict(err) != tc.conflict || !tc.conflict && err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
}
