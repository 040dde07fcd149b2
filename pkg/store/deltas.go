package store

import (
	"context"
	"sync"
)

// A DeltaType is the kind of change in a Delta or a Notification.
type DeltaType string

// The types.
const (
	// Created: the watch had not reported an object with that key, or had reported its deletion.
	Created DeltaType = "Created"

	// Updated: an object that the watch had reported was changed.
	Updated DeltaType = "Updated"

	// Deleted: the object was removed.
	Deleted DeltaType = "Deleted"

	// Synced: the watch has reported all changes up to the revision. See Event.Synced.
	Synced DeltaType = "Synced"
)

// A Delta is an Event of a watch together with the previous object of the entry.
type Delta[T any] struct {
	// Type is the kind of the change.
	Type DeltaType

	// Key is the key of the entry. It is empty if Synced.
	Key string

	// Revision is the revision of the change.
	Revision uint64

	// Old is the previous object. It is the zero value if Type is Created. If Type is Deleted, Old is the last object that
	// the watch reported, or the zero value if no state of the entry could be decoded. New is the current object, and the
	// zero value if Type is Deleted. Do not modify either: New is also Old of the next delta.
	Old, New T

	// Initial is true if the object existed when the watch started.
	Initial bool

	// Err is set if the current value cannot be decoded. See Event.Err. Old is kept for later deltas.
	Err error

	// Epoch is the epoch of the store if Synced.
	Epoch string
}

// Deltas are the deltas of a running watch. Use WatchDeltas; the zero value is not usable. The owner receives from
// Events until the channel is closed, or calls Stop.
type Deltas[T Object] struct {
	watcher Watcher[T]
	out     chan Delta[T]
	once    sync.Once
	done    chan struct{}
}

// WatchDeltas watches a store, distinguishes creations from updates, and returns the last object with each deletion. It
// is for adapters that convert objects of a store to another API. It keeps the last object of each key in memory during
// the watch. Each watch starts with the existing objects, as Created and Initial. To keep one history across several
// watches, use an Informer: its notifications have the same information.
//
// Deltas do not include the deletion of an entry that the watch never reported. A store may report only the last of
// several successive states of an entry. Errors are those of Watch.
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

// Err returns why the channel was closed, as Watcher.Err does.
func (d *Deltas[T]) Err() error { return d.watcher.Err() }

// Stop ends the watch and releases its resources. It may be called again.
func (d *Deltas[T]) Stop() {
	d.watcher.Stop()
	d.once.Do(func() { close(d.done) })
}

// run converts events to deltas until the watch ends.
func (d *Deltas[T]) run(ctx context.Context) {
	defer close(d.out)
	tracker := deltaTracker[T]{last: map[string]T{}}
	for e := range d.watcher.Events() {
		delta, ok := tracker.delta(e)
		if !ok {
			continue
		}
		select {
		case d.out <- delta:
			continue
		case <-ctx.Done():
		case <-d.done:
		}
		for range d.watcher.Events() { // until the watch has ended and Err is set
		}
	}
}

// A deltaTracker keeps the last objects that a watch reported.
type deltaTracker[T Object] struct {
	last   map[string]T // the zero value for entries that were never decoded
	synced bool
}

// delta returns the delta of an event, and false if there is none.
func (m *deltaTracker[T]) delta(e Event[T]) (Delta[T], bool) {
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

// typeOf returns the type of a change, given the previous object.
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
