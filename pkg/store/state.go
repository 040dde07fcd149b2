package store

import (
	"context"
	"slices"
	"sync"
)

// A state is the cache of an informer and its handlers. Handlers are called under the lock, one after the other and
// in the order of changes.
type state[T Object] struct {
	mu       sync.Mutex
	synced   bool
	epoch    string
	revision uint64
	entries  map[string]entry[T]
	indexes  map[string]*index[T]
	handlers []*handler[T]
	waiters  map[chan struct{}]struct{}
}

// An entry is a key in the cache. It has no object if no value of the key could be decoded.
type entry[T Object] struct {
	revision    uint64
	object      T
	known       bool // object is set
	undecodable bool // the current value cannot be decoded; object is the last that could
	held        bool // lost with its store
}

type handler[T Object] struct {
	notify func(Notification[T])
}

func newState[T Object]() state[T] {
	return state[T]{entries: map[string]entry[T]{}, indexes: map[string]*index[T]{}, waiters: map[chan struct{}]struct{}{}}
}

// AddHandler calls handle for all existing objects, and then for each change, until remove is called or the informer
// ends. Calls are sequential and in the order of changes. handle must not block or call the informer.
func (i *Informer[T]) AddHandler(handle func(Notification[T])) (remove func()) {
	i.mu.Lock()
	defer i.mu.Unlock()

	h := &handler[T]{notify: handle}
	for key, e := range i.entries {
		if e.known && !e.held {
			handle(Notification[T]{Op: Put, Key: key, New: e.object, Initial: true})
		}
	}
	i.handlers = append(i.handlers, h)

	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.handlers = slices.DeleteFunc(i.handlers, func(other *handler[T]) bool { return other == h })
	}
}

// Get returns the object of the key. It is shared: do not modify it.
func (i *Informer[T]) Get(key string) (T, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	e := i.entries[key]
	if !e.known || e.held {
		var none T

		return none, false
	}

	return e.object, true
}

// Keys returns the keys of all objects, sorted.
func (i *Informer[T]) Keys() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []string
	for key, e := range i.entries {
		if e.known && !e.held {
			out = append(out, key)
		}
	}
	slices.Sort(out)

	return out
}

// List returns all objects, sorted by key. They are shared: do not modify them.
func (i *Informer[T]) List() []T {
	var out []T
	for _, key := range i.Keys() {
		if obj, ok := i.Get(key); ok {
			out = append(out, obj)
		}
	}

	return out
}

// Has returns whether the cache has an entry of the key, decodable or not. held is true if the object was lost with its
// store and is not known to be deleted.
func (i *Informer[T]) Has(key string) (exists, held bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	e, ok := i.entries[key]

	return ok && !e.held, e.held
}

// Undecodable returns whether the current value of the key cannot be decoded. Get then returns the last state of the
// object that was decoded.
func (i *Informer[T]) Undecodable(key string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()

	return i.entries[key].undecodable
}

// Held returns the keys that were lost with their store, sorted.
func (i *Informer[T]) Held() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []string
	for key, e := range i.entries {
		if e.held {
			out = append(out, key)
		}
	}
	slices.Sort(out)

	return out
}

// Release treats held keys as deleted, and notifies handlers of their deletion. Keys that are not held are ignored.
func (i *Informer[T]) Release(keys ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, key := range keys {
		if e, ok := i.entries[key]; ok && e.held {
			i.drop(key, Delete)
		}
	}
}

// State returns the epoch of the store, and the revision up to which the cache is complete. The epoch is empty
// before the first complete snapshot.
func (i *Informer[T]) State() State {
	i.mu.Lock()
	defer i.mu.Unlock()

	return State{Epoch: i.epoch, Revision: i.revision}
}

// HasSynced returns whether there was a complete snapshot.
func (i *Informer[T]) HasSynced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()

	return i.synced
}

// An origin is the source of an event.
type origin int

const (
	fromWatch    origin = iota // an event of the watch, in order
	fromSnapshot               // the first snapshot
	fromRead                   // a live read or a list: earlier events may still follow
)

// apply applies an event to the cache. Events that are older than the entry are ignored. A deletion from a live
// read has no revision.
func (i *Informer[T]) apply(e Event[T], from origin) {
	i.mu.Lock()
	defer i.mu.Unlock()
	was, ok := i.entries[e.Key]
	if e.Revision != 0 && ok && e.Revision <= was.revision {
		return
	}
	if from != fromRead {
		i.revision = max(i.revision, e.Revision)
	}
	defer i.wake()
	if e.Op != Put {
		i.drop(e.Key, e.Op)

		return
	}
	now := entry[T]{revision: e.Revision, object: e.Object, known: true}
	if e.Err != nil {
		now.object, now.known, now.undecodable = was.object, was.known, true
	}
	i.entries[e.Key] = now
	for _, x := range i.indexes {
		x.put(e.Key, now.object, now.known)
	}
	if e.Err != nil {
		return
	}
	i.notify(Notification[T]{Op: Put, Key: e.Key, Old: was.object, New: now.object, Initial: from == fromSnapshot})
}

// drop removes an entry. The caller holds the lock.
func (i *Informer[T]) drop(key string, op Op) {
	was, ok := i.entries[key]
	if !ok {
		return
	}
	delete(i.entries, key)
	for _, x := range i.indexes {
		x.put(key, was.object, false)
	}
	i.notify(Notification[T]{Op: op, Key: key, Old: was.object})
}

// notify calls the handlers. The caller holds the lock.
func (i *Informer[T]) notify(n Notification[T]) {
	for _, h := range i.handlers {
		h.notify(n)
	}
}

// setEpoch sets the epoch of a snapshot, and returns whether the store was replaced. If it was, the revisions of
// the former store are reset.
func (i *Informer[T]) setEpoch(e Event[T], snapshot []Event[T], rewatch bool) (replaced bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	replaced = i.synced && (e.Epoch != i.epoch || e.Revision < i.revision || i.contradicts(snapshot))
	i.epoch = e.Epoch
	// The revisions of a first watch that broke before its snapshot was complete may be of another store.
	if !replaced && (i.synced || !rewatch) {
		return false
	}
	i.revision = 0
	for key, known := range i.entries {
		known.revision = 0
		i.entries[key] = known
	}

	return replaced
}

// contradicts returns whether a snapshot contradicts the cache, which was complete up to its revision. It does if an
// object in the snapshot is not newer than that revision, and the cache has another revision of the object. Then the
// store was restored from a backup and has been written since.
func (i *Informer[T]) contradicts(snapshot []Event[T]) bool {
	last := map[string]Event[T]{}
	for _, e := range snapshot {
		last[e.Key] = e
	}
	for key, e := range last {
		known := i.entries[key].revision
		if e.Revision < known || e.Op == Put && e.Revision <= i.revision && e.Revision != known {
			return true
		}
	}

	return false
}

// isUnknown returns whether the cache lacks an object that it should have: the revision is not newer than the one up to
// which the cache is complete.
func (i *Informer[T]) isUnknown(key string, revision uint64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()

	return i.synced && revision <= i.revision && i.entries[key].revision == 0
}

// continues returns whether a state can come after the state of the cache: the epoch is equal, and the revision is not
// lower.
func (i *Informer[T]) continues(now State) bool {
	i.mu.Lock()
	defer i.mu.Unlock()

	return now.Epoch == i.epoch && now.Revision >= i.revision
}

// missing returns the keys of the cache that are not in seen, sorted. It omits held keys.
func (i *Informer[T]) missing(seen map[string]struct{}) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []string
	for key, e := range i.entries {
		if _, ok := seen[key]; !ok && !e.held {
			out = append(out, key)
		}
	}
	slices.Sort(out)

	return out
}

// keys returns the keys that a list can be expected to have.
func (i *Informer[T]) keys() []string { return i.missing(nil) }

// hold marks keys as lost.
func (i *Informer[T]) hold(keys []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, key := range keys {
		e := i.entries[key]
		e.held = true
		i.entries[key] = e
	}
}

// advanceRevision sets the revision up to which the cache is complete.
func (i *Informer[T]) advanceRevision(revision uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.revision = max(i.revision, revision)
	i.wake()
}

// setSynced records the first complete snapshot.
func (i *Informer[T]) setSynced() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = true
	i.wake()
}

// wake makes waiting goroutines check their condition. The caller holds the lock.
func (i *Informer[T]) wake() {
	for w := range i.waiters {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// await waits until the condition holds. It calls the condition under the lock.
func (i *Informer[T]) await(ctx context.Context, holds func() bool) error {
	news := make(chan struct{}, 1)
	i.mu.Lock()
	i.waiters[news] = struct{}{}
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.waiters, news)
	}()
	for {
		i.mu.Lock()
		done := holds()
		i.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-news:
		}
	}
}
