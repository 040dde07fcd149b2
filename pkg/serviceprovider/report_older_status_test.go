package serviceprovider

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
)

// writeOlderStatus writes a status as older versions did, without ServiceCreated.
func (w *world) writeOlderStatus(f *Foo) {
	w.Helper()
	f.Status.Conditions = []metav1.Condition{
		{Type: ConditionClusterAccessReady, Status: metav1.ConditionTrue, Reason: ReasonGranted},
	}
	w.Must(w.API.Status().Update(w.Context(), f))
}

// TestDeletionWithOlderStatus verifies that ClusterAccessReady True of an older version counts as
// created, and is recorded until the service is deleted or orphaned.
func TestDeletionWithOlderStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		set  func(w *world)
		want passResult
	}{
		"Blocked": {func(w *world) { w.setConfigSource(nil, ErrConfigNotFound) }, passResult{
			Name: "DeletionBlocked", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: half},
			Event: "Warning DeletionBlocked: Deletion waits for the ProviderConfig",
			Says: []string{
				granted, "Ready False ConfigMissing: Deletion waits for the ProviderConfig",
				"DeletionBlocked True ConfigMissing: Deletion waits for the ProviderConfig", created,
			},
		}},
		"Cleaning": {func(w *world) { w.domain.result.RequeueAfter = time.Second }, passResult{
			Name: "Cleaning", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: time.Second},
			Says: []string{granted, busy, created},
		}},
		"Deleted": {func(w *world) { w.gate.deleting = time.Second }, passResult{
			Name: "Withdrawing", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: time.Second},
			Says: []string{granted, busy, deleted},
		}},
		"Orphaned": {func(w *world) { w.gate.leaving, w.gate.deleting = true, time.Second }, passResult{
			Name: "Withdrawing", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: time.Second},
			Event: abandoned, Says: []string{granted, busy, orphaned},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			tc.set(w)
			f := w.create("foo", withFinalizer)
			w.writeOlderStatus(f)
			w.Delete(f)
			if diff := cmp.Diff(tc.want, w.run(f)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestResumedCondition verifies that Synced of an object that is no longer paused has no old
// message.
func TestResumedCondition(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo", annotated(OperationIgnore))
	w.steady(f)
	w.Change(f, func() { f.Annotations = nil })
	want := passResult{
		Name: "Worked", Phase: "Ready", Result: ctrl.Result{RequeueAfter: time.Minute},
		Says: []string{
			"Synced True ReconcileSuccess: ", "Ready True ReconcileSuccess: Domain Service is ready", granted, created,
		},
	}
	for range 2 {
		if diff := cmp.Diff(want, w.run(f)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestPausedAtANewGeneration verifies that Synced of a paused object follows its generation without
// another event.
func TestPausedAtANewGeneration(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo", annotated(OperationIgnore))
	for _, generation := range []int64{1, 2} {
		w.Change(f, func() { f.Generation = generation })
		w.steady(f)
		if c := meta.FindStatusCondition(w.get(f).Status.Conditions, ConditionSynced); c == nil ||
			c.ObservedGeneration != generation {
			t.Errorf("want it paused at generation %d, got %+v", generation, c)
		}
	}
	if diff := cmp.Diff([]string{"Normal ReconciliationPaused"}, w.teller.events); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDeletionWithNilConfig verifies that a deletion keeps its last configuration if the source
// returns nil without an error.
func TestDeletionWithNilConfig(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	w.setConfigSource(w.config, nil)
	w.steady(f)
	w.r.configs = fixedConfigSource{nil, nil}
	w.steady(f)
	w.expect(f, "Progressing", ReasonReconcileError)
	w.Delete(f)
	w.steady(f)
	if !w.Gone(f) || w.domain.config.Image != "v1" {
		t.Errorf("want it deleted with the last configuration, got %+v", w.domain.config)
	}
}

// TestDeleteWithoutConfig verifies that Delete gets the zero configuration if the source returns
// one together with ErrConfigNotFound.
func TestDeleteWithoutConfig(t *testing.T) {
	w := newFakeWorld(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.ConfigSource(fixedConfigSource{w.config, ErrConfigNotFound}).WithoutConfig(DeletionDelete)
	}
	f := w.create("foo", withFinalizer)
	w.Delete(f)
	w.steady(f)
	if diff := cmp.Diff([]string{"Delete"}, w.domain.called()); diff != "" || !w.Gone(f) || w.domain.config != nil {
		t.Errorf("gone %t, with %+v, calls of the domain: -want +got:\n%s", w.Gone(f), w.domain.config, diff)
	}
}
