package managed_test

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// noting has Create note one thing in the object, and the look after it fail.
func noting(w *world) {
	w.cloud.After = func(_ context.Context, call string, mg resource.Managed) error {
		if call == "Create" {
			meta.AddAnnotations(mg, map[string]string{"example.org/note": "kept"})
		}

		return nil
	}
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Observe" && len(w.cloud.Disks()) > 0 {
			return errLost
		}

		return nil
	}
}

// TestTheOneThingThatACreateTellsIsKept verifies that the external name that Create returns is stored although the
// next Observe fails, also with deterministic names; by the author's updater if there is one, which is called once.
func TestTheOneThingThatACreateTellsIsKept(t *testing.T) {
	for name, author := range map[string]bool{"by a patch": false, "by the author": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed.WithDeterministicExternalName(true))
			w.cloud.Named = true
			asked := 0
			if author {
				updater := managed.NewRetryingCriticalAnnotationUpdater(w.API)
				w.o = append(w.o, managed.WithCriticalAnnotationUpdater(managed.CriticalAnnotationUpdateFn(func(
					ctx context.Context, o client.Object) error {
					asked++

					return updater.UpdateCriticalAnnotations(ctx, o)
				})))
				w.restart()
			}
			noting(w)
			w.create(nil)
			if _, err := w.try(); err == nil {
				t.Error("the look did not fail")
			}
			if got := w.get().Annotations["example.org/note"]; got != "kept" || author != (asked == 1) {
				t.Errorf("it is %q, and the author's updater was asked %d times", got, asked)
			}
		})
	}
}

// TestWhatAnAuthorsUpdaterHasWrittenIsNoNews verifies that a write of an author's updater is an own echo, and
// resets no backoff.
func TestWhatAnAuthorsUpdaterHasWrittenIsNoNews(t *testing.T) {
	w := newWorld(t)
	w.o = append(w.o, managed.WithCriticalAnnotationUpdater(managed.NewRetryingCriticalAnnotationUpdater(w.API)))
	w.restart()
	var before *volume.Volume
	w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
		if call == "Create" {
			before = w.get()
		}

		return nil
	}
	w.create(nil)
	w.pass()
	after := w.get()
	if meta.GetExternalName(before) != "" || meta.GetExternalName(after) != "vol-1" {
		t.Fatalf("annotations %v and %v", before.Annotations, after.Annotations)
	}
	if w.r.Predicate().Update(ctrlevent.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("it asks for a pass")
	}
	after.Annotations["example.org/note"] = "by somebody else"
	if !w.r.Predicate().Update(ctrlevent.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("what somebody else has written asks for none")
	}
}

// TestASuccessWhereEveryErrorIsAFailure verifies that a successful Create is recorded as such where every error
// counts as a failure.
func TestASuccessWhereEveryErrorIsAFailure(t *testing.T) {
	w := newWorld(t, managed.WithCreateErrorsAsFailures())
	w.cloud.Hidden = func(string) bool { return true }
	w.create(nil)
	w.pass()
	w.expect("patch, patch, patch status", "Connect Observe Create Observe", "Normal/CreatedExternalResource")
	if got := w.get().Annotations[meta.AnnotationKeyCreateAttempt]; !strings.HasSuffix(got, "/succeeded") {
		t.Errorf("the attempt is %q", got)
	}
}

// TestAnAttemptThatWasNotBegunHasAResult verifies that the marks of an attempt that was fenced before Create get
// the result failed.
func TestAnAttemptThatWasNotBegunHasAResult(t *testing.T) {
	registry := prometheus.NewRegistry()
	var w *world
	w = newWorld(t, managed.WithMetricsRegisterer(registry), managed.WithFence(func(context.Context) error {
		if w.get().Annotations[meta.AnnotationKeyExternalCreatePending] != "" {
			return errBoom
		}

		return nil
	}))
	w.create(nil)
	if _, err := w.try(); err == nil {
		t.Error("the fence did not stop the pass")
	}
	w.expect("patch, patch", look, "")
	if got := w.get().Annotations[meta.AnnotationKeyCreateAttempt]; !strings.HasSuffix(got, "/failed") {
		t.Errorf("the attempt is %q", got)
	}
	for what, want := range map[string]float64{"intent": 1, "result": 1} {
		if got := metric(t, registry, "moorage_managed_writes_total changed=true what="+what); got != want {
			t.Errorf("%v writes of the %s", got, what)
		}
	}
}

// TestAnAttemptThatIsGivenUpIsCounted verifies that an abandoned attempt is counted and reported by its id.
func TestAnAttemptThatIsGivenUpIsCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	w := newWorld(t, managed.WithMetricsRegisterer(registry))
	w.cloud.Before = failing("Create", errLost)
	w.create(nil)
	_, _ = w.try()
	w.cloud.Before = nil
	id := w.get().Annotations[meta.AnnotationKeyCreateAttempt]
	w.change(func(v *volume.Volume) {
		meta.AddAnnotations(v, map[string]string{meta.AnnotationKeyAbandonAttempt: id})
	})
	w.taken()
	w.pass()
	w.mu.Lock()
	warning := w.events[0]
	w.mu.Unlock()
	if n := metric(t, registry, "moorage_managed_abandoned_attempts_total"); n != 1 ||
		warning.Reason != "CreationAttemptAbandoned" || !strings.Contains(warning.Message, id) {
		t.Errorf("%v are counted, and told is %v", n, warning)
	}
	if next := w.get().Annotations[meta.AnnotationKeyCreateAttempt]; strings.HasPrefix(next, id) ||
		!strings.HasSuffix(next, "/succeeded") {
		t.Errorf("the next attempt is %q", next)
	}
}
