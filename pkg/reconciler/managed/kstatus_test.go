package managed_test

import (
	"context"
	"testing"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestKstatusConditions verifies that a kstatus kind reports from the beginning whether it is up to date, and for
// which generation.
func TestKstatusConditions(t *testing.T) {
	g := newGallery(t, managed.WithCreationGracePeriod(0))
	g.create(nil)
	g.pass()
	g.condition(commonv1.TypeUpToDate, "True/ObserveMatched")
	g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
	g.pass()
	if s := g.get(); s.Status.ObservedGeneration != 2 || s.Generation != 2 {
		t.Errorf("observed generation %d of %d", s.Status.ObservedGeneration, s.Generation)
	}
	g.cloud.Before = failing("Update", errors.New("boom"))
	g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 3 })
	if _, err := g.try(); err == nil {
		t.Error("no error")
	}
	g.condition(commonv1.TypeUpToDate, "False/UpdateFailed")
	g.cloud.Before = nil
	g.change(policies("Observe"))
	g.pass()
	g.condition(commonv1.TypeUpToDate, "False/UpdateRestricted")
	g.change(policies())
	g.pass()
	g.condition(commonv1.TypeUpToDate, "Unknown/ReconcilePaused")
	g.change(policies("Observe"))
	g.cloud.Remove("vol-1")
	g.pass()
	g.condition(commonv1.TypeUpToDate, "Unknown/ExternalResourceMissing")
}

// TestReconcilingAndStalled verifies that Reconciling and Stalled show whether to wait or to act, and do not change
// in a steady state.
func TestReconcilingAndStalled(t *testing.T) {
	cases := map[string]struct {
		arrange              func(gallery)
		reconciling, stalled string
	}{
		"ready": {func(g gallery) {}, "False/ReconcileSuccess", "False/ReconcileSuccess"},
		"paused": {func(g gallery) { g.change(policies()) }, "False/ReconcilePaused",
			"False/ReconcilePaused"},
		"an error is retried": {func(g gallery) { g.cloud.Before = failing("Observe", errors.New("boom")) },
			"True/ReconcileError", "False/ReconcileSuccess"},
		"a terminal one isn't": {func(g gallery) {
			g.cloud.Before = failing("Observe",
				external.Terminal("Quota", errors.New("boom")))
		}, "False/ReconcileSuccess", "True/Quota"},
		"not understood": {func(g gallery) { g.change(policies("x")) }, "False/ReconcileSuccess",
			"True/InvalidManagementPolicy"},
		"missing": {func(g gallery) { g.cloud.Remove("vol-1"); g.change(policies("Observe")) },
			"False/ReconcileSuccess", "True/ExternalResourceMissing"},
		"update does not show": {func(g gallery) {
			g.cloud.After = func(context.Context, string, resource.Managed) error {
				g.cloud.Put(volume.Disk{ID: "vol-1", Password: "p"})
				return nil
			}
			g.cloud.Put(volume.Disk{ID: "vol-1", Password: "p"})
		}, "True/UpdateRequested", "False/ReconcileSuccess"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := newGallery(t, managed.WithKstatusConditions(), managed.WithCreationGracePeriod(0))
			g.create(nil)
			g.pass()
			tc.arrange(g)
			_, _ = g.try()
			g.condition(commonv1.TypeReconciling, tc.reconciling)
			g.condition(commonv1.TypeStalled, tc.stalled)
			before := g.get().ResourceVersion
			for range 3 {
				_, _ = g.try()
			}
			if now := g.get().ResourceVersion; now != before && name != "update does not show" {
				t.Errorf("the object was written while nothing changed: %+v", g.get().Status)
			}
		})
	}
}

// TestReconcileRequests verifies that a new value of the annotation requests one pass, which is reported in the
// status.
func TestReconcileRequests(t *testing.T) {
	g := newGallery(t)
	g.create(nil)
	g.pass()
	g.taken()
	g.annotate(meta.AnnotationKeyReconcileRequestedAt, "2026-01-01T00:00:00Z")
	g.pass()
	g.expect("patch status", "Connect Observe", "Normal/ReconcileRequestHandled")
	if got := g.get().Status.LastHandledReconcileAt; got != "2026-01-01T00:00:00Z" {
		t.Errorf("handled %q", got)
	}
	g.pass()
	g.expect("", "Connect Observe", "")

	g.change(policies())
	g.annotate(meta.AnnotationKeyReconcileRequestedAt, "later")
	g.pass()
	g.pass()
	if got := g.get().Status.LastHandledReconcileAt; got == "later" {
		t.Error("a paused object claims to have handled a request")
	}
	g.cloud.Before = failing("Observe", errors.New("boom"))
	g.change(policies("*"))
	if _, err := g.try(); err == nil {
		t.Error("no error")
	}
	if got := g.get().Status.LastHandledReconcileAt; got == "later" {
		t.Error("nothing was looked at, and the request counts as handled")
	}
	g.cloud.Before = nil
	g.pass()
	if got := g.get().Status.LastHandledReconcileAt; got != "later" {
		t.Errorf("handled %q", got)
	}
}

// TestLateInitialisationDoesNotFight verifies that late initialized fields are stored once, and a writer who
// removes them wins.
func TestLateInitialisationDoesNotFight(t *testing.T) {
	g := newGallery(t)
	g.create(nil)
	g.pass()
	d := g.cloud.Disks()[0]
	d.Tier = "gold"
	g.cloud.Put(d)
	g.taken()
	g.pass()
	g.expect("patch", "Connect Observe", "")
	if got := g.get().Spec.Tier; got != "gold" {
		t.Fatalf("tier %q", got)
	}
	g.pass()
	g.expect("", "Connect Observe", "")

	for range 3 { // a tool applies what its repository says
		g.change(func(s *volume.Snapshot) { s.Spec.Tier = "" })
		g.pass()
		g.pass()
	}
	g.condition(commonv1.TypeSynced, "True/ReconcileSuccess")
	if _, calls, events := g.taken(); events != "Warning/LateInitializationReverted" {
		t.Errorf("events %q, calls %q", events, calls)
	}
	if got := g.get().Spec.Tier; got != "" {
		t.Errorf("tier %q was written against the will of somebody", got)
	}

	g.restart()
	g.pass()
	if got := g.get().Spec.Tier; got != "" {
		t.Errorf("tier %q was written again after a restart", got)
	}

	g.change(func(s *volume.Snapshot) { s.Spec.Tier = "silver" })
	g.pass()
	if got := g.get().Spec.Tier; got != "silver" {
		t.Errorf("tier %q", got)
	}
}

// TestLateInitialisationMayBeForbidden verifies that late initialization needs its management action.
func TestLateInitialisationMayBeForbidden(t *testing.T) {
	g := newGallery(t)
	g.create(policies("Observe", "Create", "Update", "Delete"))
	g.pass()
	d := g.cloud.Disks()[0]
	d.Tier = "gold"
	g.cloud.Put(d)
	g.taken()
	g.pass()
	g.expect("", "Connect Observe", "")
}
