package controller

import (
	"container/heap"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// The priorities of items, the highest first. The Priority in the result of a reconcile sets the next priority of its
// object. An item without a priority, such as one that an event of a watch adds, gets PriorityUser.
// Controller-runtime adds the objects of its initial list with PriorityPoll.
const (
	// PriorityUser is for changes that a user has made, and for deletions.
	PriorityUser = 0
	// PriorityInProgress is for external resources that are being created, changed or
	// deleted.
	PriorityInProgress = -10
	// PriorityErrorRetry is for objects whose last reconcile failed.
	PriorityErrorRetry = -50
	// PriorityPoll is for drift detection of healthy objects.
	PriorityPoll = -100
)

const (
	// lowerPriorityInterval is how often a lower priority is served: once in this many
	// items handed out.
	lowerPriorityInterval = 10
	// priorityPromoted is the priority, in the wrapped queue, of an item of a lower priority
	// that is served next. No other item has it.
	priorityPromoted = 1000
	// maxLevels is the number of distinct priorities: controller-runtime's metric of the
	// depth of a queue supports 25, including priorityPromoted.
	maxLevels = 24
)

// NewQueue returns the queue of a controller, for its Options.NewQueue. ForControllerRuntime sets it. The name of the
// controller is a label of the queue's metrics; without a name the queue has no metrics. The limiter l determines the
// delay of AddRateLimited, and is called once for each addition.
//
// The queue is the priority queue of controller-runtime. It hands out the item of the highest priority first. Among
// items of the same priority it hands out the one that has been due longest.
//
// In addition, no priority starves. While items of several priorities are due, nine of ten items have the highest
// priority, and one is the item of a lower priority that has been due longest. So a change by a user never waits
// behind many polls, and polls get a tenth of the workers' capacity, however many changes there are. Age does not
// raise a priority, because changes by users would otherwise wait behind a backlog of old polls.
//
// The queue distinguishes 24 priorities, and maps further priorities to the nearest of these. It keeps no state of
// items that are neither queued nor being processed. It may be used concurrently, and runs until it is shut down.
func NewQueue[T comparable](name string, l workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return newQueue(name, l, nil)
}

// NewPacedQueue returns a function that makes the same queues as NewQueue, with a rate limit. All queues with the same
// limiter share the limit. The limiter is a token bucket, such as the one of ratelimiter.NewGlobal. A bucket without
// capacity means no limit.
//
// An item takes its token when the queue hands it out, and not when it is added. So items of low priority cannot take
// the tokens that an item of high priority needs. The limit does not change the number of failures and the backoff of
// an item. Do not apply the limit to the controller in another way, too.
func NewPacedQueue[T comparable](
	limit *rate.Limiter,
) func(name string, l workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return func(name string, l workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
		return newQueue(name, l, limit)
	}
}

func newQueue[T comparable](name string, l workqueue.TypedRateLimiter[T], limit *rate.Limiter) *queue[T] {
	q := &queue[T]{
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[T]) { o.RateLimiter = l }),
		limiter:       l,
		limit:         limit,
		getting:       make(chan struct{}, 1),
		done:          make(chan struct{}),
		clock:         clock.RealClock{},
		entries:       map[T]*entry[T]{},
		working:       map[T]struct{}{},
	}
	q.start = q.clock.Now()
	for _, priority := range []int{PriorityUser, PriorityInProgress, PriorityErrorRetry, PriorityPoll} {
		q.levelOf(priority)
	}

	return q
}

// queue wraps controller-runtime's priority queue, which delays and orders items. It has the
// priority of each item in it, and the time since when it is due. Where the two differ for a
// moment, this queue decides: an item that has left the wrapped queue stays in this one until
// it is handed out, and an addition meanwhile is merged with it. The duplicate in the wrapped
// queue is not handed out, see handOut.
type queue[T comparable] struct {
	priorityqueue.PriorityQueue[T]
	limiter workqueue.TypedRateLimiter[T]
	clock   clock.PassiveClock
	start   time.Time
	limit   *rate.Limiter // may be nil
	getting chan struct{} // has a value while a caller of Get waits for an item and a token
	end     sync.Once
	done    chan struct{}

	mu      sync.Mutex
	entries map[T]*entry[T]
	// working has the items that were handed out and are not done.
	working map[T]struct{}
	levels  []*level[T]
	// skipped counts the items handed out since a lower priority was last served.
	skipped int
	added   uint64
}

// now returns the time since the start of the queue, by the monotonic clock.
func (q *queue[T]) now() time.Duration { return q.clock.Since(q.start) }

// levelOf returns the level of a priority, or the nearest one if there are maxLevels.
func (q *queue[T]) levelOf(priority int) *level[T] {
	var nearest *level[T]
	for _, c := range q.levels {
		if nearest == nil || distance(c.priority, priority) < distance(nearest.priority, priority) {
			nearest = c
		}
	}
	if nearest != nil && (nearest.priority == priority || priority >= priorityPromoted || len(q.levels) == maxLevels) {
		return nearest
	}
	c := &level[T]{priority: priority}
	q.levels = append(q.levels, c)

	return c
}

// distance returns |a-b| as a float, because the difference of two ints may overflow.
func distance(a, b int) float64 { return math.Abs(float64(a) - float64(b)) }

// Add adds an item with PriorityUser that is due now.
func (q *queue[T]) Add(item T) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddAfter adds an item with PriorityUser that is due after a delay.
func (q *queue[T]) AddAfter(item T, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, item)
}

// AddRateLimited adds an item with PriorityUser that is due after the delay of the limiter.
func (q *queue[T]) AddRateLimited(item T) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

// AddWithOpts adds items. If an item is in the queue already, it gets the higher of the two priorities, and the earlier
// of the two times at which it is due.
func (q *queue[T]) AddWithOpts(o priorityqueue.AddOpts, items ...T) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if q.ShuttingDown() || len(items) == 0 {
		return
	}
	c := q.levelOf(PriorityUser)
	if o.Priority != nil {
		c = q.levelOf(*o.Priority)
	}
	if !o.RateLimited {
		q.add(c, o.After, items...)

		return
	}
	for _, item := range items {
		after := q.limiter.When(item)
		if o.After != 0 {
			after = min(after, o.After)
		}
		q.add(c, after, item)
	}
}

func (q *queue[T]) add(c *level[T], after time.Duration, items ...T) {
	due := q.now() + max(after, 0)
	for _, item := range items {
		q.merge(item, c, due)
	}
	q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: &c.priority}, items...)
}

func (q *queue[T]) merge(item T, c *level[T], due time.Duration) {
	e, ok := q.entries[item]
	if ok {
		due = min(due, e.due)
		if e.level.priority > c.priority {
			c = e.level
		}
		e.remove()
	} else {
		e = &entry[T]{key: item, added: q.added, index: notQueued}
		q.added++
		q.entries[item] = e
	}
	e.level, e.due = c, due
	if _, busy := q.working[item]; !busy {
		heap.Push(c, e)
	}
}

// Get waits for an item and returns it.
func (q *queue[T]) Get() (item T, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()

	return item, shutdown
}

// GetWithPriority waits for an item and returns it with its priority.
func (q *queue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	if q.limit != nil {
		return q.getRateLimited()
	}
	q.promoteWaiting()
	for {
		item, priority, shutdown = q.PriorityQueue.GetWithPriority()
		if shutdown {
			return item, priority, shutdown
		}
		if own, ok := q.handOut(item, priority); ok {
			return item, own, false
		}
	}
}

// promoteWaiting moves the item of a lower priority that has been due longest before all
// others, once in lowerPriorityInterval calls.
func (q *queue[T]) promoteWaiting() {
	q.mu.Lock()
	defer q.mu.Unlock()

	e := q.oldestBelow(q.now())
	if e == nil {
		return
	}
	q.skipped++
	if q.skipped < lowerPriorityInterval {
		return
	}
	q.skipped = 0
	promoted := priorityPromoted
	q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: &promoted}, e.key)
}

// oldestBelow returns the entry that has been due longest, of all levels below the highest
// one with an entry that is due.
func (q *queue[T]) oldestBelow(now time.Duration) *entry[T] {
	highest := q.highest(now)
	var oldest *entry[T]
	for _, c := range q.levels {
		if c != highest && c.isDue(now) && (oldest == nil || c.entries[0].before(oldest)) {
			oldest = c.entries[0]
		}
	}

	return oldest
}

// highest returns the highest level with an entry that is due, or nil.
func (q *queue[T]) highest(now time.Duration) *level[T] {
	var highest *level[T]
	for _, c := range q.levels {
		if c.isDue(now) && (highest == nil || c.priority > highest.priority) {
			highest = c
		}
	}

	return highest
}

// handOut removes an item that came out of the wrapped queue, and returns its priority. It
// returns false for an item that must not be handed out: one that was handed out already,
// which the wrapped queue has again if it was added at the same time, and one that is only
// due later by now.
func (q *queue[T]) handOut(item T, priority int) (int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	now := q.now()
	e, ok := q.entries[item]
	if ok && e.due <= now {
		e.remove()
		delete(q.entries, item)
		q.working[item] = struct{}{}

		return e.level.priority, true
	}

	if priority == priorityPromoted {
		q.skipped = lowerPriorityInterval - 1 // the next item is promoted instead
	}
	q.PriorityQueue.Done(item)
	if ok {
		q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{After: e.due - now, Priority: &e.level.priority}, item)
	}

	return 0, false
}

// Done marks an item as processed. If it was added meanwhile, it can be handed out again.
func (q *queue[T]) Done(item T) {
	q.mu.Lock()
	if _, busy := q.working[item]; busy {
		delete(q.working, item)
		if e, ok := q.entries[item]; ok {
			heap.Push(e.level, e)
		}
	}
	q.mu.Unlock()

	q.PriorityQueue.Done(item)
}

// ShutDown ends all calls of Get that wait. Items in the queue stay there; later additions
// are dropped. Further calls do nothing.
func (q *queue[T]) ShutDown() {
	q.end.Do(func() {
		close(q.done)
		q.PriorityQueue.ShutDown()
	})
}

// ShutDownWithDrain is ShutDown, because controllers wait for their workers themselves.
func (q *queue[T]) ShutDownWithDrain() { q.ShutDown() }
