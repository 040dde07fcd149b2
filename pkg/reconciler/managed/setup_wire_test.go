package managed

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// TestTheGlobalLimitIsOneOfTheQueue verifies that the global limit applies in the queue, so that the object with
// the highest priority gets the token.
func TestTheGlobalLimitIsOneOfTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		of := fake.GVK(&fake.Managed{})
		scheme.AddKnownTypeWithName(of, &fake.Managed{})
		r, options := wire(&fake.Manager{Scheme: scheme}, resource.ManagedKind(of),
			controller.Options{GlobalRateLimiter: ratelimiter.NewGlobal(1)}, nil)
		if options.Reconciler != r {
			t.Errorf("the reconciler is wrapped in a %T: passes would be begun and then held to the limit",
				options.Reconciler)
		}
		q := options.NewQueue("", options.RateLimiter).(priorityqueue.PriorityQueue[reconcile.Request])
		defer q.ShutDown()
		begun := time.Now()
		for i := range 30 {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: new(controller.PriorityPoll)}, numbered(i))
		}
		for range 10 { // at once
			q.Get()
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("the first ten took %s", took)
		}
		time.AfterFunc(500*time.Millisecond, func() { q.Add(numbered(99)) })
		got, _ := q.Get()
		if took := time.Since(begun); got != numbered(99) || took != time.Second {
			t.Errorf("got %v after %s, want the user's change after a second", got, took)
		}
	})
}

// A diary counts events.
type diary struct{ reported int }

func (d *diary) Event(runtime.Object, event.Event)        { d.reported++ }
func (d *diary) WithAnnotations(...string) event.Recorder { return d }

// TestWaitingEventsEndWithTheController verifies that delayed events end with the controller.
func TestWaitingEventsEndWithTheController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &diary{}
		r := optioned(WithClock(clock.RealClock{}))
		r.pace = event.NewPacedRecorder(d, scheme.Scheme, event.WithPace(1, 1))
		ctx, cancel := context.WithCancel(t.Context())
		if err := r.lifetime().Start(ctx, nil); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r.pace.Event(&corev1.Pod{}, event.Normal("Attached", "in use"))
		}
		if d.reported != 1 {
			t.Errorf("%d were told at once", d.reported)
		}
		cancel()
		<-time.After(time.Minute)
		if d.reported != 1 {
			t.Errorf("%d were told afterwards", d.reported-1)
		}
	})
}

func numbered(i int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: string(rune('a' + i))}}
}
