package controller

import (
	"container/heap"
	"time"
)

// An entry is one item in the queue. Times are counted from the queue's start.
type entry[T comparable] struct {
	key   T
	class *class[T]
	due   time.Duration
	added uint64
	index int // in the class, or apart
}

// apart is the index of an entry that waits until its item is done.
const apart = -1

// A class is a heap of the entries of one priority, the one that has been due for
// longest first. Those whose items are worked on are not in it.
type class[T comparable] struct {
	priority int
	entries  []*entry[T]
}

func (c *class[T]) isDue(now time.Duration) bool {
	return len(c.entries) > 0 && c.entries[0].due <= now
}

func (e *entry[T]) before(other *entry[T]) bool {
	return e.due < other.due || e.due == other.due && e.added < other.added
}

func (e *entry[T]) leave() {
	if e.index != apart {
		heap.Remove(e.class, e.index)
	}
}

// Len is of heap.Interface, as are the methods below.
func (c *class[T]) Len() int { return len(c.entries) }

func (c *class[T]) Less(i, j int) bool { return c.entries[i].before(c.entries[j]) }

func (c *class[T]) Swap(i, j int) {
	c.entries[i], c.entries[j] = c.entries[j], c.entries[i]
	c.entries[i].index, c.entries[j].index = i, j
}

// Push appends an entry.
func (c *class[T]) Push(x any) {
	e := x.(*entry[T])
	e.index = len(c.entries)
	c.entries = append(c.entries, e)
}

// Pop takes the last entry off.
func (c *class[T]) Pop() any {
	last := len(c.entries) - 1
	e := c.entries[last]
	c.entries[last] = nil
	c.entries = c.entries[:last]
	e.index = apart

	return e
}
