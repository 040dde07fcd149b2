package managed_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TestANotificationDuringAPollIsObserved verifies that a notification during a poll is observed by that pass, even
// if it could make a list.
func TestANotificationDuringAPollIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &herald{}
		f := newCrowd(t, managed.WithExternalEvents(h, notifiedPoll), managed.WithRandom(rand.Float64),
			managed.WithBulkObservation(0))
		var mu sync.Mutex
		armed, callsAfter := false, map[string][]string{} // the calls of each object since its notification
		f.cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
			if call == "List" {
				return nil
			}
			mu.Lock()
			calls, known := callsAfter[mg.GetName()]
			first := armed && !known && call == "Connect"
			if known || first {
				callsAfter[mg.GetName()] = append(calls, call)
			}
			mu.Unlock()
			if first {
				h.to.Changed(mg.GetName())
				<-time.After(time.Millisecond) // a list that is begun now is later than the notification
			}

			return nil
		}
		queue, ok := f.queue.(workqueue.TypedRateLimitingInterface[reconcile.Request])
		if !ok {
			t.Fatal("the queue is none of a controller")
		}
		if err := f.r.Notifications().Start(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
		f.operate()
		<-time.After(3 * crowdPoll)
		mu.Lock()
		armed = true
		mu.Unlock()
		<-time.After(2 * notifiedPoll)
		mu.Lock()
		defer mu.Unlock()
		if len(callsAfter) != crowdSize {
			t.Fatalf("%d objects were told to have changed, want all %d", len(callsAfter), crowdSize)
		}
		for name, calls := range callsAfter {
			if len(calls) < 2 || calls[1] != "Observe" {
				t.Errorf("%s was told to have changed during the first of %v, want it to be observed in this pass",
					name, calls)
			}
		}
	})
}
