package limit

import (
	"slices"
	"time"
)

// Priority is how urgent a call is.
type Priority int

// The priorities, the lowest first.
const (
	// Poll is for drift detection of healthy objects.
	Poll Priority = iota
	// Retry is for objects whose last pass failed.
	Retry
	// Progress is for external resources that are being created, changed or deleted.
	Progress
	// User is for changes that a user has made, and for deletions.
	User

	priorities = int(User) + 1
)

// lowerPriorityInterval is how often a lower priority is served: by one of this many
// calls.
const lowerPriorityInterval = 10

// waiter is a request in the queue.
type waiter struct {
	Request
	since   time.Time
	waited  bool
	maxWait time.Duration // the bound that its expected wait was within
	// decided is closed when there is a call or an error.
	decided chan struct{}
	call    *call
	err     error
}

func (w *waiter) admit(c *call) {
	w.call = c
	close(w.decided)
}

func (w *waiter) reject(err error) {
	w.err = err
	close(w.decided)
}

// isDecided reports whether the waiter has been admitted or rejected.
func (w *waiter) isDecided() bool {
	select {
	case <-w.decided:
		return true
	default:
		return false
	}
}

// waitQueue has the waiters of a gate. The zero value is empty.
type waitQueue struct {
	levels  [priorities]level
	count   int
	skipped int // calls since a lower priority was last served
}

// level has the waiters of one priority by namespace. The namespaces are in the order in
// which they are served next; within a namespace the oldest request is first.
type level struct {
	namespaces []string
	waiting    map[string][]*waiter
}

// level returns the level of a priority. An unknown priority maps to the nearest one.
func (q *waitQueue) level(p Priority) *level { return &q.levels[min(max(int(p), 0), priorities-1)] }

func (q *waitQueue) push(w *waiter) {
	level := q.level(w.Priority)
	if level.waiting == nil {
		level.waiting = map[string][]*waiter{}
	}
	waiting := level.waiting[w.Namespace]
	if len(waiting) == 0 {
		level.namespaces = append(level.namespaces, w.Namespace)
	}
	level.waiting[w.Namespace] = slices.Insert(waiting, level.position(w), w)
	q.count++
}

// position returns the number of waiters of the same namespace that are before w.
func (l *level) position(w *waiter) int {
	waiting := l.waiting[w.Namespace]
	position := len(waiting)
	for position > 0 && waiting[position-1].since.After(w.since) {
		position--
	}

	return position
}

// ahead returns the number of waiters that would be served before w if it were pushed.
func (q *waitQueue) ahead(w *waiter) int {
	own := q.level(w.Priority)
	rounds := own.position(w)
	ahead := rounds
	for namespace, waiting := range own.waiting {
		if namespace != w.Namespace {
			ahead += min(len(waiting), rounds+1)
		}
	}
	for p := w.Priority + 1; int(p) < priorities; p++ {
		for _, waiting := range q.level(p).waiting {
			ahead += len(waiting)
		}
	}

	return ahead
}

// pop removes and returns the waiter that is served next. If none may be served yet, it
// returns nil and the time until one may. The function delay returns that time for a
// priority. The queue must not be empty.
func (q *waitQueue) pop(delay func(Priority) time.Duration) (*waiter, time.Duration) {
	top := User
	for len(q.level(top).namespaces) == 0 {
		top--
	}
	w := q.oldestBelow(top)
	serveLower := w != nil && q.skipped == lowerPriorityInterval-1
	// A waiter of a lower priority is served in the place of one of the top priority, and
	// may use the tokens reserved for users: they would leave it none.
	if wait := delay(top); wait > 0 {
		return nil, wait
	}
	switch {
	case serveLower:
		q.skipped = 0
	case w != nil:
		q.skipped++
	}
	if !serveLower {
		level := q.level(top)
		w = level.waiting[level.namespaces[0]][0]
	}
	q.remove(w)

	return w, 0
}

// oldestBelow returns the waiter with the oldest request of those below a priority.
func (q *waitQueue) oldestBelow(top Priority) *waiter {
	var oldest *waiter
	for p := Poll; p < top; p++ {
		for _, namespace := range q.level(p).namespaces {
			if w := q.level(p).waiting[namespace][0]; oldest == nil || w.since.Before(oldest.since) {
				oldest = w
			}
		}
	}

	return oldest
}

// remove removes a waiter, if it is in the queue, and moves its namespace to the end of
// its level.
func (q *waitQueue) remove(w *waiter) {
	level := q.level(w.Priority)
	waiting := level.waiting[w.Namespace]
	i := slices.Index(waiting, w)
	if i < 0 {
		return
	}
	q.count--
	turn := slices.Index(level.namespaces, w.Namespace)
	level.namespaces = slices.Delete(level.namespaces, turn, turn+1)
	if len(waiting) == 1 {
		delete(level.waiting, w.Namespace)

		return
	}
	level.waiting[w.Namespace] = slices.Delete(waiting, i, i+1)
	level.namespaces = append(level.namespaces, w.Namespace)
}

// drain removes and returns all waiters, the highest priority first.
func (q *waitQueue) drain() []*waiter {
	var all []*waiter
	for p := User; p >= Poll; p-- {
		for _, namespace := range q.level(p).namespaces {
			all = append(all, q.level(p).waiting[namespace]...)
		}
	}
	*q = waitQueue{}

	return all
}
