package sim

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/ratelimiter"
)

// TestUsersFirst checks that the queue of controllers serves requests of users first, however long others have waited,
// and does not keep those waiting forever. In the schedule, many polls have been due for an hour, and two users are
// requeued whenever they were served.
func TestUsersFirst(t *testing.T) {
	const polls, handOuts = 200, 100
	synctest.Test(t, func(t *testing.T) {
		limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](ratelimiter.BackOffBase,
			ratelimiter.BackOffMax)
		// the queue of controllers knows priorities
		q := controller.NewQueue("", limiter).(priorityqueue.PriorityQueue[types.NamespacedName])
		defer q.ShutDown()
		add := func(name string, priority int) {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, types.NamespacedName{Name: name})
			synctest.Wait()
		}
		for i := range polls {
			add(fmt.Sprint("poll-", i), controller.PriorityPoll)
		}
		wait(time.Hour)
		add("user-0", controller.PriorityUser)
		add("user-1", controller.PriorityUser)
		behind := 0
		for range handOuts {
			key, priority, _ := q.GetWithPriority()
			q.Done(key)
			if priority == controller.PriorityUser {
				add(key.Name, priority)
			} else {
				behind++
			}
		}
		if behind != handOuts/10 {
			t.Errorf(
				"found L6 after 1 schedules by %d polls that have been due for an hour: of %d hand-outs %d went to them while "+
					"users waited, not every tenth", polls, handOuts, behind)
		}
	})
}
