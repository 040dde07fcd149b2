package managed_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// withoutRecord returns a world with an object for which an earlier process has created a disk if created is true,
// and whose record a replace has removed. A minute later another process has begun.
func withoutRecord(t *testing.T, created bool) *world {
	t.Helper()
	w := newWorld(t, managed.WithCreationGracePeriod(0))
	w.cloud.Window = 30 * time.Second
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	w.create(func(v *volume.Volume) { v.CreationTimestamp = metav1.NewTime(w.clock.Now().Truncate(time.Second)) })
	if created {
		w.cloud.After = lost()
		_, _ = w.try()
		w.change(func(v *volume.Volume) { v.Annotations, v.Finalizers = nil, nil })
	}
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	w.restart()
	w.taken()
	w.cloud.Forget()

	return w
}

// TestWhatHasNoRecordIsLookedUp verifies that the resource of an earlier process is found by the first token,
// without a record.
func TestWhatHasNoRecordIsLookedUp(t *testing.T) {
	w := withoutRecord(t, true)
	w.pass()
	w.expect("patch, patch status", "Connect Observe Recover Observe", "")
	if v := w.get(); len(w.cloud.Disks()) != 1 || meta.GetExternalName(v) != "vol-1" ||
		!meta.FinalizerExists(v, managed.FinalizerName) {
		t.Errorf("%d disks, external name %q, finalizers %v", len(w.cloud.Disks()), meta.GetExternalName(v),
			v.Finalizers)
	}
	w.condition(commonv1.TypeReady, "True/Available")
	w.pass()
	w.expect("", "Connect Observe", "")
}

// TestWhatHasNoRecordIsWaitedFor verifies that the object is kept, and reports the wait, until the recovery window
// is over; then a resource is created at once.
func TestWhatHasNoRecordIsWaitedFor(t *testing.T) {
	w := withoutRecord(t, false)
	w.pass()
	w.expect("patch, patch status", "Connect Observe Recover", "")
	w.condition(commonv1.TypeSynced, "Unknown/CreationPending")
	if v := w.get(); !meta.FinalizerExists(v, managed.FinalizerName) ||
		!strings.Contains(v.GetCondition(commonv1.TypeSynced).Message, "before this process") {
		t.Errorf("finalizers %v, %s", v.Finalizers, v.GetCondition(commonv1.TypeSynced).Message)
	}
	w.pass()
	w.expect("", "Connect Observe Recover", "")
	w.clock.SetTime(w.clock.Now().Add(31 * time.Second))
	w.pass()
	w.expect("patch, patch, patch status", "Connect Observe Recover Create Recover Observe",
		"Normal/CreatedExternalResource")
}

// TestWhatHasNoRecordCostsACall verifies that a lookup after the window costs a call, and no request.
func TestWhatHasNoRecordCostsACall(t *testing.T) {
	w := withoutRecord(t, false)
	w.clock.SetTime(w.clock.Now().Add(31 * time.Second))
	w.pass()
	w.expect("patch, patch, patch status", "Connect Observe Recover Create Recover Observe",
		"Normal/CreatedExternalResource")
}

// TestWhatHasNoRecordIsNotFoundByAnError verifies that a failed lookup is reported, and nothing is created.
func TestWhatHasNoRecordIsNotFoundByAnError(t *testing.T) {
	w := withoutRecord(t, true)
	w.cloud.Before = failing("Recover", errors.New("search is down"))
	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	if _, err := w.try(); err == nil || !strings.Contains(err.Error(), "search is down") {
		t.Errorf("error %v", err)
	}
	if n := w.cloud.Count("Create"); n != 0 {
		t.Errorf("%d creates", n)
	}
}

// TestWhatHasNoRecordIsDeleted verifies that a deleted object is looked up before it is removed.
func TestWhatHasNoRecordIsDeleted(t *testing.T) {
	w := withoutRecord(t, true)
	w.change(func(v *volume.Volume) { v.Finalizers = []string{managed.FinalizerName} })
	w.delete()
	for range 5 {
		w.pass()
		w.clock.SetTime(w.clock.Now().Add(10 * time.Second))
		if w.gone() {
			break
		}
	}
	if !w.gone() || len(w.cloud.Disks()) != 0 {
		t.Errorf("gone %t, disks %v", w.gone(), w.cloud.Disks())
	}
}

// TestWhatNeedsNoLookup verifies that there is no lookup if no other process can have created anything, or nothing
// is to be created.
func TestWhatNeedsNoLookup(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(w *world, v *volume.Volume)
	}{
		"younger": {"the object is younger than the process", func(w *world, v *volume.Volume) {
			v.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(3 * time.Second))
		}},
		"ageless": {"its age is not known, nor its first token",
			func(_ *world, v *volume.Volume) { v.CreationTimestamp = metav1.Time{} }},
		"paused": {"nothing is called for it", func(_ *world, v *volume.Volume) {
			meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyReconciliationPaused: "true"})
		}},
		"policy": {"its policy forbids to create it", func(_ *world, v *volume.Volume) {
			meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyManagementPolicy: "observe"})
		}},
		"failed": {"the last attempt came to nothing", func(_ *world, v *volume.Volume) {
			meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyCreateAttempt: "0badcafe/failed"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cloud.Window = 30 * time.Second
			w.create(func(v *volume.Volume) {
				v.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(-time.Minute).Truncate(time.Second))
				tc.change(w, v)
			})
			_, _ = w.try()
			if n := w.cloud.Count("Recover"); n != 0 {
				t.Errorf("%s: looked up %d times", tc.reason, n)
			}
		})
	}
}

// TestConnectionDetailsBeforeALookupAreRedacted verifies that details of the observation before a lookup are
// redacted, also if the lookup fails.
func TestConnectionDetailsBeforeALookupAreRedacted(t *testing.T) {
	w := withoutRecord(t, false)
	w.cloud.Before = failing("Recover", errors.New("search is down for hunter2-hunter2"))
	w.wrap(func(c managed.ExternalClient) managed.ExternalClient { return revealing{blind{c}} })
	for _, when := range []string{"in the pass", "in a later pass"} {
		_, err := w.try()
		if c := w.get().GetCondition(commonv1.TypeSynced); err == nil ||
			strings.Contains(err.Error()+c.Message, "hunter2") || !strings.Contains(c.Message, "search is down") {
			t.Errorf("%s: error %v, Synced says %q", when, err, c.Message)
		}
		w.cloud.Before = failing("Connect", errors.New("search is down for hunter2-hunter2"))
	}
}

// A revealing client returns connection details of a missing resource.
type revealing struct{ blind }

func (revealing) Observe(context.Context, resource.Managed) (managed.ExternalObservation, error) {
	return managed.ExternalObservation{ConnectionDetails: managed.ConnectionDetails{"password": []byte(
		"hunter2-hunter2")}}, nil
}
