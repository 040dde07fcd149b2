package managed_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestWhatOthersSayDuringACreateStays verifies that the status of other writers during a create stays.
func TestWhatOthersSayDuringACreateStays(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.cloud.After = func(_ context.Context, call string, _ resource.Managed) error {
		if call != "Create" {
			return nil
		}
		v := w.get()
		v.SetConditions(commonv1.Condition{Type: "Backup", Status: metav1.ConditionTrue, Reason: "Done"})

		return w.API.Status().Update(w.Context(), v)
	}
	w.pass()
	v := w.get()
	if backup, ready := v.GetCondition("Backup"), v.GetCondition(commonv1.TypeReady); backup.Reason != "Done" ||
		ready.Status != metav1.ConditionTrue {
		t.Errorf("Backup is %+v, Ready is %+v", backup, ready)
	}
}

// TestHowManyConflictsAreSilent verifies that five consecutive status conflicts are not reported.
func TestHowManyConflictsAreSilent(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	for range 2 { // what is written in between ends the row
		d := w.cloud.Disks()[0]
		d.UsedBytes++
		w.cloud.Put(d)
		w.answer = func(context.Context, string) error { return conflict() }
		for i := range 6 {
			//nolint:staticcheck // the only silent, rate-limited way
			if result, err := w.try(); result.Requeue != (i < 5) ||
				(err != nil) != (i == 5) {
				t.Errorf("conflict %d ends with %+v, %v", i, result, err)
			}
		}
		w.answer = nil
		w.pass()
	}
}

// TestAPassWhoseObjectGoesIsCounted verifies that a pass whose object is gone at its status write is counted by its
// outcome.
func TestAPassWhoseObjectGoesIsCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	w := newWorld(t, managed.WithMetricsRegisterer(registry))
	w.create(nil)
	w.pass()
	d := w.cloud.Disks()[0]
	d.UsedBytes = 7
	w.cloud.Put(d)
	w.answer = func(context.Context, string) error {
		w.change(func(v *volume.Volume) { v.Finalizers = nil })
		w.delete()

		return kerrors.NewNotFound(schema.GroupResource{Resource: "volumes"}, key.Name)
	}
	before := metric(t, registry, "moorage_managed_passes_total outcome=kept")
	w.pass()
	if got := metric(t, registry, "moorage_managed_passes_total outcome=kept") - before; got != 1 {
		t.Errorf("%v passes are counted", got)
	}
}

// TestACacheThatHasLostAnObject verifies that an object that is missing from the cache, but not from the API
// server, is requeued and not forgotten.
func TestACacheThatHasLostAnObject(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.taken()
	w.cacheless = true
	result := w.pass()
	if w.expect("", "", ""); result.RequeueAfter != 30*time.Second || result.Priority == nil ||
		*result.Priority != controller.PriorityPoll || w.r.Remembered() != 1 {
		t.Errorf("%+v, %d are remembered", result, w.r.Remembered())
	}
}
