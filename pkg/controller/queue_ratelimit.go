package controller

import (
	"container/heap"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// getRateLimited waits for an item and then for a token. One caller at a time does so: if
// several claimed an item and waited, an urgent item would wait for all of them.
func (q *queue[T]) getRateLimited() (item T, priority int, shutdown bool) {
	select {
	case q.getting <- struct{}{}:
		defer func() { <-q.getting }()
	case <-q.done:
		return item, 0, true
	}
	q.promoteWaiting()
	allowed := false
	for {
		item, priority, shutdown = q.PriorityQueue.GetWithPriority()
		if shutdown {
			return item, priority, shutdown
		}
		if !allowed && q.claim(item) {
			if !q.waitForToken() {
				return item, priority, true
			}
			allowed = true
			if priority != priorityPromoted && q.yield(item) {
				continue
			}
		}
		if own, ok := q.handOut(item, priority); ok {
			return item, own, false
		}
	}
}

// claim marks an item from the wrapped queue as being processed while it waits for a
// token, so that it is not promoted. It returns false if the item must not be handed out.
func (q *queue[T]) claim(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()

	e, ok := q.entries[item]
	if !ok || e.due > q.now() {
		return false
	}
	e.remove()
	q.working[item] = struct{}{}

	return true
}

// waitForToken waits until an item may be handed out. It returns false if the queue is shut
// down first.
func (q *queue[T]) waitForToken() bool {
	now := q.clock.Now()
	r := q.limit.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if !r.OK() || wait <= 0 { // a bucket without capacity means no limit
		return true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-q.done:
		r.CancelAt(q.clock.Now())

		return false
	}
}

// yield puts a claimed item back if another one goes first by now: one of a higher
// priority, or one that was put back and has been due longer. The wrapped queue returns
// that one next.
func (q *queue[T]) yield(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()

	e := q.entries[item]
	heap.Push(e.level, e)
	first := q.highest(q.now()).entries[0]
	if first == e {
		e.remove()

		return false
	}
	delete(q.working, item)
	q.PriorityQueue.Done(item)
	q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: &e.level.priority}, item)
	promoted := priorityPromoted
	q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: &promoted}, first.key)

	return true
}
