package kube_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
)

func (w *world) watch(list client.ObjectList, o ...client.ListOption) watch.Interface {
	w.Helper()
	running, err := w.API.Watch(w.Context(), list, o...)
	w.Must(err)
	w.Cleanup(func() {
		running.Stop()
		for range running.ResultChan() { // ends when the watch has
		}
	})

	return running
}

func (w *world) label(value string) {
	w.Helper()
	w.Must(w.API.Patch(w.Context(), newVolume("b"),
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"`+value+`"}}}`))))
}

func TestWatch(t *testing.T) {
	w := newWorld(t)
	w.Create(newVolume("a"))
	all := w.watch(&volume.List{})
	some := w.watch(&volume.List{}, client.MatchingLabels{"app": "x"}, client.InNamespace("default"))
	w.Must(w.volumes.Write("default/broken", []byte(`{"spec":{"sizeGiB":"much"}}`)))
	w.Create(newVolume("b"))
	w.label("x")
	w.label("y")
	w.Delete(newVolume("b"))

	cases := map[string]struct {
		reason string
		of     watch.Interface
		want   []string
	}{
		"All": {"A deleted object is reported in its last state.", all, []string{
			"ADDED a map[]", "ADDED b map[]", "MODIFIED b map[app:x]", "MODIFIED b map[app:y]", "DELETED b map[app:y]",
		}},
		"Some": {"What comes to be selected is new, and what no longer is is gone.", some, []string{
			"ADDED b map[app:x]", "DELETED b map[app:x]",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for range tc.want {
				got = append(got, nextEvent(t, tc.of))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	w.volumes.Break()
	for name, tc := range cases {
		if end, after := nextEvent(t, tc.of), nextEvent(t, tc.of); end != "ERROR Expired" || after != "closed: true" {
			t.Errorf("%s ended with %s, %s: it may have missed something, and has to say so", name, end, after)
		}
	}
	if w.logged() == 0 {
		t.Error("an unreadable entry was not logged")
	}
}

func TestWatchWithInitialEvents(t *testing.T) {
	w := newWorld(t)
	w.Create(newVolume("a"))
	initial := true
	running := w.watch(&volume.List{}, &client.ListOptions{Raw: &metav1.ListOptions{SendInitialEvents: &initial,
		ResourceVersion: "7"}})
	first, mark := nextEvent(t, running), <-running.ResultChan()
	o, ok := mark.Object.(*volume.Volume)
	if first != "ADDED a map[]" || mark.Type != watch.Bookmark || !ok ||
		o.Annotations[metav1.InitialEventsAnnotationKey] != "true" || o.ResourceVersion != "1" {
		t.Errorf("%s, then %s %+v", first, mark.Type, mark.Object)
	}
}

func TestWatchFromAVersion(t *testing.T) {
	w := newWorld(t)
	_, err := w.API.Watch(t.Context(), &volume.List{},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "7"}})
	if !kerrors.IsResourceExpired(err) {
		t.Errorf("got %v: a store keeps no history", err)
	}
}
