package trials

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// panics runs the story of a client that panics in a call: a condition and an event report it.
func panics(t *testing.T, in string) {
	t.Helper()
	each(t, classes, func(w *world) {
		w.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == in {
				panic("assignment to entry in nil map")
			}

			return nil
		}
		w.create()
		for range 3 {
			_, _ = w.pass() // an error requeues the object
			wait(time.Minute)
		}
		if c := w.get().GetCondition(commonv1.TypeSynced); c.Status != metav1.ConditionFalse ||
			c.Reason != "ClientPanicked" {
			w.Errorf("want Synced False (ClientPanicked), got %s (%s): %s", c.Status, c.Reason, c.Message)
		}
		if n := w.warnings(); n == 0 {
			w.Error("no event reports that the client panics")
		}
	})
}

func (w *world) warnings() (n int) {
	for _, e := range w.events {
		if e.Type == event.TypeWarning {
			n++
		}
	}

	return n
}

// TestD10PanicInConnect is about a client that panics in Connect.
func TestD10PanicInConnect(t *testing.T) { panics(t, "Connect") }

// TestD10PanicInObserve is about a client that panics in Observe.
func TestD10PanicInObserve(t *testing.T) { panics(t, "Observe") }

// TestD10NeverReturns checks that an object does not look healthy while a client that ignores
// its context holds the pass far beyond its deadline.
func TestD10NeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newPlane(100)
		p := &provider{
			t: t, plane: server, cloud: &volume.Cloud{},
			options: []managed.ReconcilerOption{managed.WithTimeout(time.Second)},
		}
		var held atomic.Int32
		release := make(chan struct{})
		p.cloud.Before = func(_ context.Context, call string, _ resource.Managed) error {
			if call == "Observe" && len(p.cloud.Disks()) > 0 &&
				server.volume(t).GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue {
				held.Add(1)
				<-release
			}

			return nil
		}
		stop := p.runs()
		defer stop()
		defer close(release)
		server.put(manifest())
		wait(10 * time.Minute)
		if held.Load() == 0 {
			t.Fatal("the story is that of a call that is held")
		}
		well := true
		all := server.volume(t).Status.Conditions
		for _, c := range all {
			if c.Type == commonv1.TypeReady || c.Type == commonv1.TypeSynced {
				well = well && c.Status == metav1.ConditionTrue
			}
			well = well && (c.Type != "Stalled" || c.Status != metav1.ConditionTrue)
		}
		if well {
			t.Errorf("a call is held for ten minutes, with a timeout of a second, and the object looks well: %+v", all)
		}
	})
}
