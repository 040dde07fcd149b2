package sim

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
)

var queueLists = flag.Int("queue-lists", 1000,
	"how many random lists of operations the model of the queue is compared with the real one by")

// TestQueueMatchesController compares the model with the queue of controllers, as a controller with one worker uses it.
func TestQueueMatchesController(t *testing.T) {
	for seed := range uint64(*queueLists) {
		synctest.Test(t, func(t *testing.T) { compareQueues(t, seed) })
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

type handOut struct {
	key      string
	priority int
	ok       bool
}

func compareQueues(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 9))
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](ratelimiter.BackOffBase,
		ratelimiter.BackOffMax)
	// the queue of controllers knows priorities
	real := controller.NewQueue("", limiter).(priorityqueue.PriorityQueue[types.NamespacedName])
	defer real.ShutDown()
	model := newQueue()
	asked, got := make(chan struct{}), make(chan handOut, 1)
	go func() {
		for range asked {
			key, priority, down := real.GetWithPriority()
			if down {
				return
			}
			got <- handOut{key.Name, priority, true}
		}
	}()
	defer close(asked)
	waiting := false
	var done []string
	for range 60 {
		key := types.NamespacedName{Name: fmt.Sprint(r.IntN(6))}
		after := time.Duration(r.IntN(4)) * time.Second
		priority := []int{0, 0, -10, -50, -100}[r.IntN(5)]
		switch r.IntN(4) {
		case 0:
			real.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: &priority}, key)
			model.add(time.Now(), key, after, priority)
			done = append(done, fmt.Sprintf("add %s after %s at %d", key.Name, after, priority))
		case 1:
			wait(min(after, time.Second)) // everything happens at whole seconds
			done = append(done, fmt.Sprint("wait ", min(after, time.Second)))
		default:
			if !waiting {
				waiting = true
				asked <- struct{}{}
			}
		}
		synctest.Wait()
		if !waiting {
			continue
		}
		var have handOut
		select {
		case have = <-got:
			waiting = false
		default:
		}
		var want handOut
		if i, ok := model.take(time.Now()); ok {
			want = handOut{i.key.Name, i.priority, true}
		}
		if have != want {
			t.Errorf("the real queue hands out %v, the model %v, after\n%s", have, want, strings.Join(done, "\n"))

			return
		}
		if want.ok {
			finish(r, real, model, limiter, want)
			done = append(done, fmt.Sprintf("took %s at %d, and finished it", want.key, want.priority))
		}
	}
}

// finish ends the work on a key in one of the ways in which a pass ends.
func finish(r *rand.Rand, real priorityqueue.PriorityQueue[types.NamespacedName], model *queue,
	l workqueue.TypedRateLimiter[types.NamespacedName], h handOut) {
	key := types.NamespacedName{Name: h.key}
	after, lower := time.Duration(1+r.IntN(3))*time.Second, -100
	switch r.IntN(4) {
	case 0:
		real.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: &h.priority}, key)
		model.done(time.Now(), key, h.priority, reconcile.Result{}, errors.New("failed"))
	case 1:
		l.Forget(key)
		real.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: &lower}, key)
		model.done(time.Now(), key, h.priority, reconcile.Result{RequeueAfter: after, Priority: &lower}, nil)
	default:
		l.Forget(key)
		model.done(time.Now(), key, h.priority, reconcile.Result{}, nil)
	}
	real.Done(key)
}
