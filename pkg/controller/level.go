package controller

import (
	"container/heap"
	"time"
)

// entry is an item in the queue. Its time is relative to the start of the queue.
type entry[T comparable] struct {
	key   T
	level *level[T]
	due   time.Duration
	added uint64
	index int // in the level, or notQueued
}

// notQueued is the index of an entry that is in no level, because its item is being
// processed.
const notQueued = -1

// level is a heap of the entries of one priority, the one that has been due longest first.
// Entries of items that are being processed are not in it.
type level[T comparable] struct {
	priority int
	entries  []*entry[T]
}

func (c *level[T]) isDue(now time.Duration) bool {
	return len(c.entries) > 0 && c.entries[0].due <= now
}

func (e *entry[T]) before(other *entry[T]) bool {
	return e.due < other.due || e.due == other.due && e.added < other.added
}

func (e *entry[T]) remove() {
	if e.index != notQueued {
		heap.Remove(e.level, e.index)
	}
}

// Len implements heap.Interface, with the methods below.
func (c *level[T]) Len() int { return len(c.entries) }

func (c *level[T]) Less(i, j int) bool { return c.entries[i].before(c.entries[j]) }

func (c *level[T]) Swap(i, j int) {
	c.entries[i], c.entries[j] = c.entries[j], c.entries[i]
	c.entries[i].index, c.entries[j].index = i, j
}

// Push appends an entry.
func (c *level[T]) Push(x any) {
	e := x.(*entry[T])
	e.index = len(c.entries)
	c.entries = append(c.entries, e)
}

// Pop removes and returns the last entry.
func (c *level[T]) Pop() any {
	last := len(c.entries) - 1
	e := c.entries[last]
	c.entries[last] = nil
	c.entries = c.entries[:last]
	e.index = notQueued

	return e
}
