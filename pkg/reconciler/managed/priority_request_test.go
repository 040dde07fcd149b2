package managed_test

import (
	"testing"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// TestARequestIsReportedBeforeTheOutcome verifies that a handled request is reported before the outcome.
func TestARequestIsReportedBeforeTheOutcome(t *testing.T) {
	g := newGallery(t)
	g.create(nil)
	g.pass()
	g.cloud.Before = failing("Update", errors.New("no quota"))
	g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
	g.annotate(meta.AnnotationKeyReconcileRequestedAt, "now")
	g.taken()
	_, _ = g.try()
	if _, _, events := g.taken(); events != "Normal/ReconcileRequestHandled, Warning/CannotUpdateExternalResource" {
		t.Errorf("told %s", events)
	}
}
