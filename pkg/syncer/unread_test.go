package syncer_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
)

func unread(int, *corev1.ConfigMap) (bool, error) { return true, errBoom }

// TestUnreadCaches: a cache that cannot be read says nothing about objects. The pass fails, and nothing is made, changed or deleted.
func TestUnreadCaches(t *testing.T) {
	cases := map[string]struct {
		reason  string
		v, p    []runtime.Object
		virtual bool // which cache cannot be read
		left    []string
	}{
		"OnlyThere":     {reason: "It cannot be told whether there is a virtual object.", p: []runtime.Object{imageOf("a")}, virtual: true, left: []string{imageOf("a").Name}},
		"Both":          {reason: "Nor what it wants.", v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{imageOf("a")}, virtual: true, left: []string{imageOf("a").Name}},
		"OnlyHere":      {reason: "It cannot be told whether there is an image.", v: []runtime.Object{virtualMap("a")}},
		"HostOnlyThere": {reason: "Nor whose it is.", p: []runtime.Object{imageOf("a")}, left: []string{imageOf("a").Name}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{v: tc.v, p: tc.p})
			if tc.virtual {
				w.reg.VirtualManager = clientOf{w.reg.VirtualManager, &answering{Client: w.API, answer: unread}}
			} else {
				w.reg.PhysicalManager = clientOf{w.reg.PhysicalManager, &answering{Client: w.p, answer: unread}}
			}
			w.remake(w.syncer, syncer.Options{})
			if _, err := w.pass("a"); !errors.Is(err, errBoom) || w.syncer.calls != nil {
				t.Errorf("%s\ngot error %v, calls %q", tc.reason, err, w.syncer.calls)
			}
			if diff := cmp.Diff(tc.left, w.hostNames()); diff != "" {
				t.Errorf("%s\nleft on the host: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestImageThatCannotBeRead: where an image is stays known while the host cannot be read, although nothing but the memory says so.
func TestImageThatCannotBeRead(t *testing.T) {
	v := virtualMap("a", func(m *corev1.ConfigMap) { m.Labels = map[string]string{"host": "somewhere"} })
	w := newWorld(t, setting{v: []runtime.Object{v}})
	host := &answering{Client: w.p}
	w.reg.PhysicalManager = clientOf{w.reg.PhysicalManager, host}
	w.remake(byLabelDown{byLabel{w.syncer}}, syncer.Options{})
	w.mustPass()
	w.Delete(v)
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	host.answer = unread
	if _, err := w.pass("a"); !errors.Is(err, errBoom) {
		t.Errorf("got error %v", err)
	}
	host.answer = nil
	w.mustPass()
	if w.host("somewhere") != nil {
		t.Error("the host object is forgotten")
	}
}

// TestGoneObjectIsNotWoken: an object that was refused a name and is gone is not woken any more, even if the name becomes free in the very pass that finds
// it gone.
func TestGoneObjectIsNotWoken(t *testing.T) {
	foreign := imageOf("a", stranger)
	w, q := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{foreign}}), newQueue(t)
	host := &answering{Client: w.p}
	w.reg.PhysicalManager = clientOf{w.reg.PhysicalManager, host}
	w.remake(w.syncer, syncer.Options{})
	if _, err := w.pass("a"); !errors.Is(err, syncer.ErrConflict) {
		t.Fatalf("it is not refused: %v", err)
	}
	w.Delete(virtualMap("a"))
	host.answer = func(int, *corev1.ConfigMap) (bool, error) {
		w.core.HostSeen(foreign, true, q)
		return false, nil
	}
	w.mustPass()
	if woken := enqueued(q); woken != nil {
		t.Errorf("woken: %q", woken)
	}
}
