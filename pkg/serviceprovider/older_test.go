package serviceprovider

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
)

// older writes a status as versions did that did not say whether anything was made.
func (w *world) older(f *Foo) {
	w.Helper()
	f.Status.Conditions = []metav1.Condition{{Type: ConditionClusterAccessReady, Status: metav1.ConditionTrue, Reason: ReasonGranted}}
	w.Must(w.API.Status().Update(w.Context(), f))
}

// TestDeletionsOfOlderVersions: there may be something of an object in the clusters if an older
// version says that there was access. That is said until it is removed, or left there.
func TestDeletionsOfOlderVersions(t *testing.T) {
	for name, tc := range map[string]struct {
		set  func(w *world)
		want ending
	}{
		"Blocked": {func(w *world) { w.configures(nil, ErrConfigNotFound) }, ending{
			Name: "DeletionBlocked", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: half},
			Told: "Warning DeletionBlocked: Deletion waits for the ProviderConfig",
			Says: []string{
				granted, "Ready False ConfigMissing: Deletion waits for the ProviderConfig",
				"DeletionBlocked True ConfigMissing: Deletion waits for the ProviderConfig", created,
			},
		}},
		"Cleaning": {func(w *world) { w.domain.result.RequeueAfter = time.Second }, ending{
			Name: "Cleaning", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: time.Second}, Says: []string{granted, busy, created},
		}},
		"Deleted": {func(w *world) { w.gate.deleting = time.Second }, ending{
			Name: "Withdrawing", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: time.Second},
			Says: []string{granted, busy, deleted},
		}},
		"Orphaned": {func(w *world) { w.gate.leaving, w.gate.deleting = true, time.Second }, ending{
			Name: "Withdrawing", Phase: "Terminating", Result: ctrl.Result{RequeueAfter: time.Second},
			Told: abandoned, Says: []string{granted, busy, orphaned},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			tc.set(w)
			f := w.create("foo", held)
			w.older(f)
			w.Delete(f)
			if diff := cmp.Diff(tc.want, w.ends(f)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestResumedOnce: an object that is not paused any more says so, and says nothing of how it
// was before.
func TestResumedOnce(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo", annotated(OperationIgnore))
	w.steady(f)
	w.Change(f, func() { f.Annotations = nil })
	want := ending{
		Name: "Worked", Phase: "Ready", Result: ctrl.Result{RequeueAfter: time.Minute},
		Says: []string{"Synced True ReconcileSuccess: ", "Ready True ReconcileSuccess: Domain Service is ready", granted, created},
	}
	for range 2 {
		if diff := cmp.Diff(want, w.ends(f)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestPausedAtANewGeneration: an object that is changed while it is paused says that it is
// paused as it is now, and tells it no more.
func TestPausedAtANewGeneration(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo", annotated(OperationIgnore))
	for _, generation := range []int64{1, 2} {
		w.Change(f, func() { f.Generation = generation })
		w.steady(f)
		if c := meta.FindStatusCondition(w.get(f).Status.Conditions, ConditionSynced); c == nil || c.ObservedGeneration != generation {
			t.Errorf("want it paused at generation %d, got %+v", generation, c)
		}
	}
	if diff := cmp.Diff([]string{"Normal ReconciliationPaused"}, w.teller.events); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSilentLosses: a source that has no configuration any more, and does not say so, takes
// nothing from a deletion.
func TestSilentLosses(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	w.configures(w.config, nil)
	w.steady(f)
	w.r.configs = answer{nil, nil}
	w.steady(f)
	w.shows(f, "Progressing", ReasonReconcileError)
	w.Delete(f)
	w.steady(f)
	if !w.Gone(f) || w.domain.config.Image != "v1" {
		t.Errorf("want it deleted with the last configuration, got %+v", w.domain.config)
	}
}

// TestDeletesWithoutConfig: what a source says of a configuration that does not exist is no
// configuration.
func TestDeletesWithoutConfig(t *testing.T) {
	w := newFakeWorld(t)
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.ConfigSource(answer{w.config, ErrConfigNotFound}).WithoutConfig(DeletionDelete)
	}
	f := w.create("foo", held)
	w.Delete(f)
	w.steady(f)
	if diff := cmp.Diff([]string{"Delete"}, w.domain.called()); diff != "" || !w.Gone(f) || w.domain.config != nil {
		t.Errorf("gone %t, with %+v, calls of the domain: -want +got:\n%s", w.Gone(f), w.domain.config, diff)
	}
}
