package managed_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

var errConflict = kerrors.NewConflict(schema.GroupResource{}, key.Name, errors.New("changed"))

const handledEvent = "Normal/ReconcileRequestHandled"

// TestOnlyAStoredRequestIsAnswered verifies that a pass whose status was not written gives no answer, and that the
// next pass does. Other events of the pass are emitted.
func TestOnlyAStoredRequestIsAnswered(t *testing.T) {
	for name, failure := range map[string]error{
		"a conflict": errConflict,
		"an error":   errors.New("the API server is away"),
	} {
		t.Run(name, func(t *testing.T) {
			g := newGallery(t)
			g.create(nil)
			g.pass()
			g.change(func(s *volume.Snapshot) { s.Spec.SizeGiB = 2 })
			g.annotate(meta.AnnotationKeyReconcileRequestedAt, "now")
			g.taken()
			g.answer = func(_ context.Context, note string) error {
				if strings.HasPrefix(note, "patch status") {
					return failure
				}

				return nil
			}
			_, _ = g.try()
			if _, _, events := g.taken(); strings.Contains(events, handledEvent) ||
				!strings.Contains(events, "Normal/UpdatedExternalResource") {
				t.Errorf("not stored: events %q", events)
			}
			g.answer = nil
			g.pass()
			if _, _, events := g.taken(); events != handledEvent {
				t.Errorf("stored: events %q", events)
			}
			if got := g.get().Status.LastHandledReconcileAt; got != "now" {
				t.Errorf("the status says that %q was handled", got)
			}
		})
	}
}

// requestPass sets the annotation, makes two passes, and returns their requests and events.
func (w *world) requestPass(request string) (requests, events string) {
	w.Helper()
	w.change(annotate(meta.AnnotationKeyReconcileRequestedAt, request))
	w.taken()
	w.pass()
	w.pass()
	requests, _, events = w.taken()

	return requests, events
}

// TestAnswersOfAKindWithoutTheField verifies that each request is answered once and without a write, if the status of
// the kind has no field for the last handled request. A request that a process finds when it starts is not answered.
func TestAnswersOfAKindWithoutTheField(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.pass()
	for _, request := range []string{"1", "2", strings.Repeat("3", 300)} {
		if requests, events := w.requestPass(request); requests != "" || events != handledEvent {
			t.Errorf("request %.3s: requests %q, events %q", request, requests, events)
		}
	}

	w.restart()
	w.pass()
	w.pass()
	w.expect("", "Connect Observe Connect Observe", "")
	if requests, events := w.requestPass("4"); requests != "" || events != handledEvent {
		t.Errorf("after a restart: requests %q, events %q", requests, events)
	}
	w.change(func(v *volume.Volume) { delete(v.Annotations, meta.AnnotationKeyReconcileRequestedAt) })
	w.pass()
	w.expect("", "Connect Observe", "")
}

// TestAnswersOfAStatusWithoutTheField verifies that each request is answered once, if the CustomResourceDefinition
// does not have the field that the Go type has.
func TestAnswersOfAStatusWithoutTheField(t *testing.T) {
	g := newGallery(t)
	pruning := interceptor.NewClient(g.API, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch,
			opts ...client.SubResourcePatchOption) error {
			data, err := patch.Data(o)
			if err != nil {
				return err
			}
			pruned := bytes.ReplaceAll(data, []byte("lastHandledReconcileAt"), []byte("unknown"))

			return c.SubResource(sub).Patch(ctx, o, client.RawPatch(types.MergePatchType, pruned), opts...)
		},
	})
	g.o = append(g.o, managed.WithCluster(reader{&fake.Manager{Client: pruning, Scheme: g.API.Scheme()}, g.listener()}))
	g.restart()
	g.create(nil)
	g.pass()
	for _, request := range []string{"1", "2"} {
		g.annotate(meta.AnnotationKeyReconcileRequestedAt, request)
		g.taken()
		for range 3 {
			g.pass()
		}
		if _, _, events := g.taken(); strings.Count(events, handledEvent) != 1 {
			t.Errorf("request %s: events %q", request, events)
		}
	}
}

// TestAnswersAreNotPaced verifies that an answer does not wait behind the events of other objects, and that the same
// answer is emitted for each request.
func TestAnswersAreNotPaced(t *testing.T) {
	for name, limit := range map[string]func(w *world) event.Recorder{
		"paced": func(w *world) event.Recorder {
			r := event.NewPacedRecorder(w, w.API.Scheme(), event.WithPace(1e-9, 1))
			t.Cleanup(r.Stop)
			r.Event(atKey(), event.Normal("Other", ""))
			r.Event(atKey(), event.Normal("Other", ""))

			return r
		},
		"throttled": func(w *world) event.Recorder { return event.NewThrottledRecorder(w) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.o = append(w.o, managed.WithRecorder(limit(w)))
			w.restart()
			w.create(nil)
			w.pass()
			for _, request := range []string{"1", "2"} {
				if _, events := w.requestPass(request); events != handledEvent {
					t.Errorf("request %s: events %q", request, events)
				}
			}
		})
	}
}

// TestARequestOfAKindWithoutTheFieldIsUrgent verifies that the request has the priority of a user until it is handled.
func TestARequestOfAKindWithoutTheFieldIsUrgent(t *testing.T) {
	w := newWorld(t)
	w.create(nil)
	w.pass()
	w.change(annotate(meta.AnnotationKeyReconcileRequestedAt, "now"))
	w.answer = func(context.Context, string) error { return errConflict }
	w.cloud.Put(volume.Disk{ID: "vol-1", SizeGiB: 1, UsedBytes: 7}) // a status that has to be written
	for _, want := range []int{controller.PriorityUser, controller.PriorityPoll} {
		result, _ := w.try()
		if result.Priority == nil || *result.Priority != want {
			t.Errorf("priority %s, want %d", ptrTo(result.Priority), want)
		}
		w.answer = nil
	}
}
