package storecontroller

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/storetest"
)

// TestFailedPassIsLoggedByDefault checks that without a manager and a logger, failed passes are in the log of
// controller-runtime.
func TestFailedPassIsLoggedByDefault(t *testing.T) {
	inWorld(t, Options{}, func(w *world) { w.fail["ns/unlucky"] = errors.New("quota exceeded") }, func(w *world) {
		w.create("ns/unlucky", 1)
		w.settle()
		if !globalLog.has("Reconciler error", "things", "ns/unlucky", "quota exceeded") {
			t.Errorf("the failed pass is not logged, but %v", globalLog.all())
		}
	})
}

// TestEventsReferencePrimary checks that an event about a primary has a reference to it, and its complete key as an
// annotation, with either recorder.
func TestEventsReferencePrimary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kube := fake.NewClientset()
		older := record.NewBroadcaster()
		older.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events("")})
		newer := events.NewBroadcaster(&events.EventSinkImpl{Interface: kube.EventsV1()})
		if err := newer.StartRecordingToSinkWithContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer newer.Shutdown()
		defer older.Shutdown()
		for name, r := range map[string]event.Recorder{
			"older": event.NewAPIRecorder(older.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "things"})),
			"newer": event.NewRecorder(newer.NewRecorder(scheme.Scheme, "things")),
		} {
			c, err := New(nil, name, "thing", store.NewInformer(newMemory("things"), store.InformerOptions{}),
				ReconcilerFunc[*thing](nil), Options{Recorder: r, EventNamespace: name, TypedOptions: skipNameValidation()})
			if err != nil {
				t.Fatal(err)
			}
			a := storetest.NewThing("ns/a", 1)
			a.Metadata.UID = "1234"
			c.Event(a, event.Normal("Seen", "Look"))
		}
		<-time.After(time.Second)
		want := corev1.ObjectReference{APIVersion: "store.moorage.dev/v1", Kind: "thing", UID: "1234",
			Name: event.Ref("thing", "", "ns/a", "").Name}

		old, err := kube.CoreV1().Events("older").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(old.Items) != 1 {
			t.Fatalf("%v, %v", old, err)
		}
		now, err := kube.EventsV1().Events("newer").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(now.Items) != 1 {
			t.Fatalf("%v, %v", now, err)
		}
		for name, got := range map[string]struct {
			about       corev1.ObjectReference
			annotations map[string]string
		}{
			"older": {old.Items[0].InvolvedObject, old.Items[0].Annotations}, "newer": {now.Items[0].Regarding,
				now.Items[0].Annotations},
		} {
			want.Namespace = name
			if diff := cmp.Diff(want, got.about); diff != "" {
				t.Errorf("%s: reference: -want, +got:\n%s", name, diff)
			}
			if key := got.annotations[event.AnnotationKeyStored]; key != "ns/a" {
				t.Errorf("%s: the key in the event is %q", name, key)
			}
		}
	})
}

// TestGarbageEventReferencesPrimary checks that an event of the garbage collector also has a reference to the primary.
func TestGarbageEventReferencesPrimary(t *testing.T) {
	inWorld(t, Options{Resync: time.Hour}, func(w *world) {
		w.skipParts = true
		w.part("x", store.Owner{Kind: "thing", Key: "ns/gone", UID: "1234", Epoch: "0", Revision: 0})
	}, func(w *world) {
		w.advance(3 * time.Hour)
		w.events.expect(t, "Normal GarbageCollected")
		w.events.mu.Lock()
		defer w.events.mu.Unlock()
		ref, ok := w.events.regarding[0].(*corev1.ObjectReference)
		if !ok || ref.UID != "1234" || ref.Kind != "thing" || w.events.keys[0] != "ns/gone" {
			t.Errorf("the event is about %+v, with the key %q", w.events.regarding[0], w.events.keys[0])
		}
	})
}
