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

// The classes of work, the most urgent one first. A pass says with the Priority
// of its result to which one its object belongs next. What the queue is given
// without a priority, as by the events of a watch, is of PriorityUser; what
// controller-runtime lists when it starts, or again later, is of PriorityPoll.
const (
	// PriorityUser is for what a user waits for: a change of an object, and its
	// deletion.
	PriorityUser = 0
	// PriorityInProgress is for what is being made, changed or deleted outside.
	PriorityInProgress = -10
	// PriorityErrorRetry is for what failed.
	PriorityErrorRetry = -50
	// PriorityPoll is for what was as it should be when it was last seen.
	PriorityPoll = -100
)

const (
	// share is how many hand-outs there are for one that goes to a lower class.
	share = 10
	// priorityTurn carries the item whose turn it is past all others, within the
	// wrapped queue. Nobody else has it.
	priorityTurn = 1000
	// maxClasses is how many priorities are told apart: controller-runtime's metric
	// of a queue's depth knows 25, the turn among them.
	maxClasses = 24
)

// NewQueue returns the queue of a controller, to be its Options.NewQueue; the
// name, that of the controller, labels the queue's metrics, and no name means no
// metrics. ForControllerRuntime has it set already.
//
// It is controller-runtime's priority queue (the item of the highest priority is
// handed out first, and among equals the one that has been due for longest), with
// one addition: nothing starves. Whenever ten times in a row somebody asks for an
// item while items of several priorities are due, nine times the highest priority
// is served and once that item of a lower one which has been due for longest. So
// a user never waits behind a backlog of polls, and polls go on, at a tenth of
// what the workers can do, however many users there are.
//
// Time does not raise a priority. If it did, the whole of a backlog would be old
// enough at once, and users would wait behind it again.
//
// Of priorities that nobody has agreed on, the first few keep their own place;
// each further one is taken for the nearest that is known. l says how long what
// is added by AddRateLimited waits; it is asked once for each time, and nothing
// else delays an item. Nothing is kept about items that are neither in the queue
// nor worked on.
//
// The queue may be used concurrently. It runs until it is shut down.
func NewQueue[T comparable](name string, l workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return newQueue(name, l, nil)
}

// NewPacedQueue returns what NewQueue is, with one difference: no more items are
// handed out than pace allows to all queues that share it. Whoever asks for an item
// waits until it is allowed, and gets the one that is the most urgent then. So a
// user does not wait behind those who waited for the pace before, as happens if
// passes are started and then held to a limit. How often an item has failed, and
// for how long it waits for that, is nothing that the pace changes.
//
// The pace is a token bucket, as that of the limiter that ratelimiter.NewGlobal
// returns; one that can hold no token limits nothing. Do not hold the controller to
// it in another way too.
func NewPacedQueue[T comparable](pace *rate.Limiter) func(name string, l workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
	return func(name string, l workqueue.TypedRateLimiter[T]) workqueue.TypedRateLimitingInterface[T] {
		return newQueue(name, l, pace)
	}
}

func newQueue[T comparable](name string, l workqueue.TypedRateLimiter[T], pace *rate.Limiter) *queue[T] {
	q := &queue[T]{
		PriorityQueue: priorityqueue.New(name, func(o *priorityqueue.Opts[T]) { o.RateLimiter = l }),
		limiter:       l,
		pace:          pace,
		gate:          make(chan struct{}, 1),
		done:          make(chan struct{}),
		clock:         clock.RealClock{},
		entries:       map[T]*entry[T]{},
		working:       map[T]struct{}{},
	}
	q.start = q.clock.Now()
	for _, priority := range []int{PriorityUser, PriorityInProgress, PriorityErrorRetry, PriorityPoll} {
		q.classOf(priority)
	}

	return q
}

// A queue knows of each item in the queue it wraps since when it has been due, and
// of which priority it is. The wrapped one delays, orders and hands out; this one
// is what counts where the two differ for a moment: from when an item leaves the
// wrapped queue until whoever asked for it has it, it is still in here, and what
// is added meanwhile is the same item. What the wrapped queue makes of that is not
// handed out (see handOut).
type queue[T comparable] struct {
	priorityqueue.PriorityQueue[T]
	limiter workqueue.TypedRateLimiter[T]
	clock   clock.PassiveClock
	start   time.Time
	pace    *rate.Limiter // may be nil
	gate    chan struct{} // has something in it while somebody waits for an item and the pace
	end     sync.Once
	done    chan struct{}

	mu      sync.Mutex
	entries map[T]*entry[T]
	// working has what was handed out and is not done.
	working map[T]struct{}
	classes []*class[T]
	// passed counts how often a lower class had to wait since its last turn.
	passed int
	added  uint64
}

// now is the time on the monotonic clock.
func (q *queue[T]) now() time.Duration { return q.clock.Since(q.start) }

// classOf returns the class of a priority, or the nearest one if there are enough
// already.
func (q *queue[T]) classOf(priority int) *class[T] {
	var nearest *class[T]
	for _, c := range q.classes {
		if nearest == nil || distance(c.priority, priority) < distance(nearest.priority, priority) {
			nearest = c
		}
	}
	if nearest != nil && (nearest.priority == priority || priority >= priorityTurn || len(q.classes) == maxClasses) {
		return nearest
	}
	c := &class[T]{priority: priority}
	q.classes = append(q.classes, c)

	return c
}

// distance is a float because the difference of two integers need not be one.
func distance(a, b int) float64 { return math.Abs(float64(a) - float64(b)) }

// Add adds an item that is due now, of PriorityUser.
func (q *queue[T]) Add(item T) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddAfter adds an item of PriorityUser that is due after a while.
func (q *queue[T]) AddAfter(item T, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, item)
}

// AddRateLimited adds an item of PriorityUser that is due when the limiter says.
func (q *queue[T]) AddRateLimited(item T) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

// AddWithOpts adds items. One that is in the queue already keeps the higher
// priority and the earlier time.
func (q *queue[T]) AddWithOpts(o priorityqueue.AddOpts, items ...T) {
	q.mu.Lock()
	defer q.mu.Unlock()

	if q.ShuttingDown() || len(items) == 0 {
		return
	}
	c := q.classOf(PriorityUser)
	if o.Priority != nil {
		c = q.classOf(*o.Priority)
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

func (q *queue[T]) add(c *class[T], after time.Duration, items ...T) {
	due := q.now() + max(after, 0)
	for _, item := range items {
		q.merge(item, c, due)
	}
	q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: &c.priority}, items...)
}

func (q *queue[T]) merge(item T, c *class[T], due time.Duration) {
	e, ok := q.entries[item]
	if ok {
		due = min(due, e.due)
		if e.class.priority > c.priority {
			c = e.class
		}
		e.leave()
	} else {
		e = &entry[T]{key: item, added: q.added, index: apart}
		q.added++
		q.entries[item] = e
	}
	e.class, e.due = c, due
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
	if q.pace != nil {
		return q.getAtPace()
	}
	q.giveTurn()
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

// giveTurn puts the item of a lower class that has been due for longest before
// all others when its class has waited often enough.
func (q *queue[T]) giveTurn() {
	q.mu.Lock()
	defer q.mu.Unlock()

	e := q.waitsBehind(q.now())
	if e == nil {
		return
	}
	q.passed++
	if q.passed < share {
		return
	}
	q.passed = 0
	turn := priorityTurn
	q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: &turn}, e.key)
}

// waitsBehind returns the entry that has been due for longest of all but the
// highest class that has any due.
func (q *queue[T]) waitsBehind(now time.Duration) *entry[T] {
	highest := q.highest(now)
	var oldest *entry[T]
	for _, c := range q.classes {
		if c != highest && c.isDue(now) && (oldest == nil || c.entries[0].before(oldest)) {
			oldest = c.entries[0]
		}
	}

	return oldest
}

// highest returns the highest class that has something due, or nil.
func (q *queue[T]) highest(now time.Duration) *class[T] {
	var highest *class[T]
	for _, c := range q.classes {
		if c.isDue(now) && (highest == nil || c.priority > highest.priority) {
			highest = c
		}
	}

	return highest
}

// handOut takes an item that came out of the wrapped queue, and returns its own
// priority. It refuses one that was handed out already, which the wrapped queue
// has again if it was added at that very moment, and one of which there is only a
// later addition by now.
func (q *queue[T]) handOut(item T, priority int) (int, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	now := q.now()
	e, ok := q.entries[item]
	if ok && e.due <= now {
		e.leave()
		delete(q.entries, item)
		q.working[item] = struct{}{}

		return e.class.priority, true
	}

	if priority == priorityTurn {
		q.passed = share - 1 // the turn was for nobody: the next one gets it
	}
	q.PriorityQueue.Done(item)
	if ok {
		q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{After: e.due - now, Priority: &e.class.priority}, item)
	}

	return 0, false
}

// Done says that the work on an item has ended. If it was added meanwhile, it can
// be handed out again.
func (q *queue[T]) Done(item T) {
	q.mu.Lock()
	if _, busy := q.working[item]; busy {
		delete(q.working, item)
		if e, ok := q.entries[item]; ok {
			heap.Push(e.class, e)
		}
	}
	q.mu.Unlock()

	q.PriorityQueue.Done(item)
}

// ShutDown lets everybody go who waits for an item. What is in the queue stays
// there; what is added later is dropped. A second time does nothing.
func (q *queue[T]) ShutDown() {
	q.end.Do(func() {
		close(q.done)
		q.PriorityQueue.ShutDown()
	})
}

// ShutDownWithDrain is ShutDown: controllers wait for their workers themselves.
func (q *queue[T]) ShutDownWithDrain() { q.ShutDown() }
