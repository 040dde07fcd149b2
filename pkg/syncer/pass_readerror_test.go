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

// failRead fails every read.
func failRead(int, *corev1.ConfigMap) (bool, error) { return true, errBoom }

// TestCacheReadErrors verifies that a pass whose cache cannot be read fails, calls no
// syncer and deletes nothing.
func TestCacheReadErrors(t *testing.T) {
	cases := map[string]struct {
		reason  string
		v, p    []runtime.Object
		virtual bool // which cache cannot be read
		left    []string
	}{
		"HostOnly": {
			reason: "It is unknown whether the virtual object exists.", p: []runtime.Object{imageOf("a")}, virtual: true,
			left: []string{imageOf("a").Name},
		},
		"Both": {
			reason: "It is unknown what the virtual object wants.", v: []runtime.Object{virtualMap("a")},
			p: []runtime.Object{imageOf("a")}, virtual: true, left: []string{imageOf("a").Name},
		},
		"VirtualOnly": {reason: "It is unknown whether the image exists.", v: []runtime.Object{virtualMap("a")}},
		"HostReadError": {
			reason: "It is unknown whether the host object is owned.", p: []runtime.Object{imageOf("a")},
			left: []string{imageOf("a").Name},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{v: tc.v, p: tc.p})
			if tc.virtual {
				w.reg.VirtualManager = clientManager{w.reg.VirtualManager, &interceptingClient{Client: w.API, answer: failRead}}
			} else {
				w.reg.PhysicalManager = clientManager{w.reg.PhysicalManager, &interceptingClient{Client: w.p, answer: failRead}}
			}
			w.newCore(w.syncer, syncer.Options{})
			if _, err := w.pass("a"); !errors.Is(err, errBoom) || w.syncer.calls != nil {
				t.Errorf("%s\ngot error %v, calls %q", tc.reason, err, w.syncer.calls)
			}
			if diff := cmp.Diff(tc.left, w.hostNames()); diff != "" {
				t.Errorf("%s\nleft on the host: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestHostReadError verifies that the tracker keeps a host name while the host cannot be
// read.
func TestHostReadError(t *testing.T) {
	v := virtualMap("a", func(m *corev1.ConfigMap) { m.Labels = map[string]string{"host": "somewhere"} })
	w := newWorld(t, worldOptions{v: []runtime.Object{v}})
	host := &interceptingClient{Client: w.p}
	w.reg.PhysicalManager = clientManager{w.reg.PhysicalManager, host}
	w.newCore(labelNameCreator{labelNameSyncer{w.syncer}}, syncer.Options{})
	w.mustPass()
	w.Delete(v)
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	host.answer = failRead
	if _, err := w.pass("a"); !errors.Is(err, errBoom) {
		t.Errorf("got error %v", err)
	}
	host.answer = nil
	w.mustPass()
	if w.host("somewhere") != nil {
		t.Error("the host object was not deleted")
	}
}

// TestDeletedWaiterIsNotEnqueued verifies that a deleted virtual object is not enqueued
// for its host name, even if the name becomes free in the pass that detects the deletion.
func TestDeletedWaiterIsNotEnqueued(t *testing.T) {
	foreign := imageOf("a", unowned)
	w, q := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}, p: []runtime.Object{foreign}}), newQueue(t)
	host := &interceptingClient{Client: w.p}
	w.reg.PhysicalManager = clientManager{w.reg.PhysicalManager, host}
	w.newCore(w.syncer, syncer.Options{})
	if _, err := w.pass("a"); !errors.Is(err, syncer.ErrConflict) {
		t.Fatalf("there is no conflict: %v", err)
	}
	w.Delete(virtualMap("a"))
	host.answer = func(int, *corev1.ConfigMap) (bool, error) {
		w.core.HandleHostEvent(foreign, true, q)
		return false, nil
	}
	w.mustPass()
	if names := enqueued(q); names != nil {
		t.Errorf("enqueued: %q", names)
	}
}
