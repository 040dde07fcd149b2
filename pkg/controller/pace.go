package controller

import (
	"container/heap"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// getAtPace waits for an item and then for the pace, one after the other: if
// several held items while they wait, a user would have to wait for all of them.
func (q *queue[T]) getAtPace() (item T, priority int, shutdown bool) {
	select {
	case q.gate <- struct{}{}:
		defer func() { <-q.gate }()
	case <-q.done:
		return item, 0, true
	}
	q.giveTurn()
	allowed := false
	for {
		item, priority, shutdown = q.PriorityQueue.GetWithPriority()
		if shutdown {
			return item, priority, shutdown
		}
		if !allowed && q.hold(item) {
			if !q.awaitPace() {
				return item, priority, true
			}
			allowed = true
			if priority != priorityTurn && q.giveBack(item) {
				continue
			}
		}
		if own, ok := q.handOut(item, priority); ok {
			return item, own, false
		}
	}
}

// hold keeps an item that came out of the wrapped queue from being given its turn
// while it waits for the pace. It is false for one that is not to be handed out.
func (q *queue[T]) hold(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()

	e, ok := q.entries[item]
	if !ok || e.due > q.now() {
		return false
	}
	e.leave()
	q.working[item] = struct{}{}

	return true
}

// awaitPace waits until an item may be handed out, and reports false if the queue
// was shut down before.
func (q *queue[T]) awaitPace() bool {
	now := q.clock.Now()
	r := q.pace.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if !r.OK() || wait <= 0 { // a bucket that never holds a token limits nothing
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

// giveBack puts an item back if another one is to go before it by now: one that is
// more urgent, or one that was given back and has been due for longer. That one
// comes out of the wrapped queue next.
func (q *queue[T]) giveBack(item T) bool {
	q.mu.Lock()
	defer q.mu.Unlock()

	e := q.entries[item]
	heap.Push(e.class, e)
	first := q.highest(q.now()).entries[0]
	if first == e {
		e.leave()

		return false
	}
	delete(q.working, item)
	q.PriorityQueue.Done(item)
	q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: &e.class.priority}, item)
	turn := priorityTurn
	q.PriorityQueue.AddWithOpts(priorityqueue.AddOpts{Priority: &turn}, first.key)

	return true
}
