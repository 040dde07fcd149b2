package managed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestAFailedUndoCreateIsReported verifies that a create that cannot be undone, because the namespace is deleted,
// is reported before the pass ends.
func TestAFailedUndoCreateIsReported(t *testing.T) {
	another := kerrors.NewInvalid(schema.GroupKind{Kind: "K"}, "data", nil)
	another.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: "metadata.uid"}}
	for name, why := range map[string]error{
		"of its record": errors.Wrap(errReplaced, "cannot store"), "of its status": nil,
	} {
		var wrote []string
		p, _, _ := newWriting(func(*fake.Managed) error { return another },
			WithRecorder(notebook{name: "all", wrote: &wrote}))
		p.mg.SetNamespace("apps")
		p.r.guards.namespace, p.r.cluster = true, &aboveReader{going: true}
		asked := &removal{answers: []error{nil}}
		p.created, p.external = true, asked
		if _, err := p.conclude(t.Context(), outcome{requeue: resync}, why); err != nil || asked.asked != 0 {
			t.Errorf("%s: %v, deleted %d times", name, err, asked.asked)
		}
		if diff := cmp.Diff([]string{"all " + string(reasonRetained)}, wrote); diff != "" {
			t.Errorf("%s: told, -want, +got:\n%s", name, diff)
		}
	}
}
