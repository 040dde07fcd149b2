package store

import (
	"context"
	"sync"
)

// A DeltaType says what a Delta or a Notification tells.
type DeltaType string

// The types.
const (
	// Created: no object of the key was told before, or it was told as deleted since.
	Created DeltaType = "Created"

	// Updated: one was told, and is another now.
	Updated DeltaType = "Updated"

	// Deleted: the entry is gone.
	Deleted DeltaType = "Deleted"

	// Synced: all there is up to the revision has been told. See Event.Synced.
	Synced DeltaType = "Synced"
)

// A Delta is an Event of a watch beside what the watch told of the entry before.
type Delta[T any] struct {
	// Type is what happened.
	Type DeltaType

	// Key of the entry. It is empty if Synced.
	Key string

	// Revision of the store at which it happened.
	Revision uint64

	// Old is the last object that was told, the zero value if Created. After a deletion
	// it is the last object that there was, as far as the watch told of it: the zero value
	// if no state of the entry could be decoded. New is the object as it is now, the zero
	// value if Deleted. New is Old of the next delta: do not change them.
	Old, New T

	// Initial: the object was there when the watch began.
	Initial bool

	// Err is set if what is there now cannot be decoded. See Event.Err. Old is kept for
	// the deltas to come.
	Err error

	// Epoch of the store, if Synced.
	Epoch string
}

// Deltas are those of a running watch. Use WatchDeltas. Whoever has them receives until
// the channel is closed, or calls Stop.
type Deltas[T Object] struct {
	watcher Watcher[T]
	out     chan Delta[T]
	once    sync.Once
	done    chan struct{}
}

// WatchDeltas watches a store, tells what was created from what was updated, and has the
// last object with each deletion. It is for those who have to tell that to others, as an
// adapter to another model of objects does, and keeps the last object of each key in memory
// while the watch goes on. A new watch begins anew: what it finds is Created, and Initial.
// To follow a store across watches that end, use an Informer, whose notifications tell the same.
//
// An entry that went before the watch could tell of it is not told. Of states of one entry
// that follow each other a store may tell the last alone; then an Updated leads from the
// last that was told. Errors are those of Watch.
func WatchDeltas[T Object](ctx context.Context, s Store[T], o ...WatchOption) (*Deltas[T], error) {
	w, err := s.Watch(ctx, o...)
	if err != nil {
		return nil, err
	}
	d := &Deltas[T]{watcher: w, out: make(chan Delta[T]), done: make(chan struct{})}
	go d.run(ctx)

	return d, nil
}

// Events returns the channel of deltas. It is closed when the watch ends.
func (d *Deltas[T]) Events() <-chan Delta[T] { return d.out }

// Err tells why the channel was closed, as that of a Watcher does.
func (d *Deltas[T]) Err() error { return d.watcher.Err() }

// Stop ends the watch and frees what it holds. It may be called again.
func (d *Deltas[T]) Stop() {
	d.watcher.Stop()
	d.once.Do(func() { close(d.done) })
}

func (d *Deltas[T]) run(ctx context.Context) {
	defer close(d.out)
	known := memory[T]{last: map[string]T{}}
	for e := range d.watcher.Events() {
		delta, tell := known.take(e)
		if !tell {
			continue
		}
		select {
		case d.out <- delta:
			continue
		case <-ctx.Done():
		case <-d.done:
		}
		for range d.watcher.Events() { // until the watch knows why it has ended
		}
	}
}

// A memory has what a watch told.
type memory[T Object] struct {
	last   map[string]T // the zero value of what could not be decoded yet
	synced bool
}

// take returns what an event tells, if it tells anything.
func (m *memory[T]) take(e Event[T]) (Delta[T], bool) {
	if e.Synced {
		m.synced = true

		return Delta[T]{Type: Synced, Revision: e.Revision, Epoch: e.Epoch}, true
	}
	old, ok := m.last[e.Key]
	out := Delta[T]{Type: typeOf(e.Op, old), Key: e.Key, Revision: e.Revision, Old: old, Initial: !m.synced, Err: e.Err}
	if e.Op != Put {
		delete(m.last, e.Key)

		return out, ok
	}
	if e.Err == nil {
		out.New, old = e.Object, e.Object
	}
	m.last[e.Key] = old

	return out, true
}

// typeOf says what happened to an entry of which that was the last object.
func typeOf[T Object](op Op, old T) DeltaType {
	switch {
	case op != Put:
		return Deleted
	case Absent(old):
		return Created
	default:
		return Updated
	}
}
