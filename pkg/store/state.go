package store

import (
	"context"
	"slices"
	"sync"
)

// state is the copy that an informer keeps, and whoever is told of it. Handlers
// are called under the lock, one after the other and in the order of changes.
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

// An entry may be without an object, if it was never decoded, and held.
type entry[T Object] struct {
	revision uint64
	object   T
	known    bool // there is an object
	bad      bool // what is there now cannot be decoded; the object is what was before
	held     bool // it was lost with its store
}

type handler[T Object] struct {
	tell func(Notification[T])
}

func newState[T Object]() state[T] {
	return state[T]{entries: map[string]entry[T]{}, indexes: map[string]*index[T]{}, waiters: map[chan struct{}]struct{}{}}
}

// AddHandler calls tell for all there is, and then for each change, until remove is
// called or the informer ends. It is called by one goroutine at a time, in order,
// and must not wait for anything, nor call the informer.
func (i *Informer[T]) AddHandler(tell func(Notification[T])) (remove func()) {
	i.mu.Lock()
	defer i.mu.Unlock()

	h := &handler[T]{tell: tell}
	for key, e := range i.entries {
		if e.known && !e.held {
			tell(Notification[T]{Op: Put, Key: key, New: e.object, Initial: true})
		}
	}
	i.handlers = append(i.handlers, h)

	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.handlers = slices.DeleteFunc(i.handlers, func(other *handler[T]) bool { return other == h })
	}
}

// Get returns the object of the key, which is shared: do not change it.
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

// List returns all objects by key. They are shared: do not change them.
func (i *Informer[T]) List() []T {
	var out []T
	for _, key := range i.Keys() {
		if obj, ok := i.Get(key); ok {
			out = append(out, obj)
		}
	}

	return out
}

// Has tells whether there is an entry of the key that can be decoded or not, and
// whether it is held: lost with its store, and not known to be deleted.
func (i *Informer[T]) Has(key string) (exists, held bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	e, ok := i.entries[key]

	return ok && !e.held, e.held
}

// Undecodable tells whether what the store has under the key cannot be decoded. Get
// returns the last that could be.
func (i *Informer[T]) Undecodable(key string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()

	return i.entries[key].bad
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

// Release says that the keys, which are held, are gone for good: handlers are told
// of their deletion. Keys that are not held are left alone.
func (i *Informer[T]) Release(keys ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, key := range keys {
		if e, ok := i.entries[key]; ok && e.held {
			i.drop(key, Delete)
		}
	}
}

// State returns the epoch that is followed, and the revision up to which the copy
// has everything. The epoch is empty until the copy is whole.
func (i *Informer[T]) State() State {
	i.mu.Lock()
	defer i.mu.Unlock()

	return State{Epoch: i.epoch, Revision: i.revision}
}

// HasSynced tells whether the copy has been whole once.
func (i *Informer[T]) HasSynced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()

	return i.synced
}

// How an informer came to know something.
type origin int

const (
	told    origin = iota // by the watch, in order
	initial               // by the first snapshot
	found                 // by asking: there may be earlier changes that were not told yet
)

// apply changes the copy by an event. What is older than what is known is nothing.
// A deletion that was found has no revision.
func (i *Informer[T]) apply(e Event[T], from origin) {
	i.mu.Lock()
	defer i.mu.Unlock()
	was, ok := i.entries[e.Key]
	if e.Revision != 0 && ok && e.Revision <= was.revision {
		return
	}
	if from != found {
		i.revision = max(i.revision, e.Revision)
	}
	defer i.wake()
	if e.Op != Put {
		i.drop(e.Key, e.Op)

		return
	}
	now := entry[T]{revision: e.Revision, object: e.Object, known: true}
	if e.Err != nil {
		now.object, now.known, now.bad = was.object, was.known, true
	}
	i.entries[e.Key] = now
	for _, x := range i.indexes {
		x.put(e.Key, now.object, now.known)
	}
	if e.Err != nil {
		return
	}
	i.tell(Notification[T]{Op: Put, Key: e.Key, Old: was.object, New: now.object, Initial: from == initial})
}

// drop forgets an entry. The lock is held.
func (i *Informer[T]) drop(key string, op Op) {
	was, ok := i.entries[key]
	if !ok {
		return
	}
	delete(i.entries, key)
	for _, x := range i.indexes {
		x.put(key, was.object, false)
	}
	i.tell(Notification[T]{Op: op, Key: key, Old: was.object})
}

func (i *Informer[T]) tell(n Notification[T]) {
	for _, h := range i.handlers {
		h.tell(n)
	}
}

// begin says what a snapshot was of, and tells whether that is another store than
// the one that is known. Revisions of the other one are forgotten then.
func (i *Informer[T]) begin(e Event[T], snapshot []Event[T], again bool) (replaced bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	replaced = i.synced && (e.Epoch != i.epoch || e.Revision < i.revision || i.contradicts(snapshot))
	i.epoch = e.Epoch
	// Of a first watch that broke, nobody knows of which store it was.
	if !replaced && (i.synced || !again) {
		return false
	}
	i.revision = 0
	for key, known := range i.entries {
		known.revision = 0
		i.entries[key] = known
	}

	return replaced
}

// contradicts tells whether a snapshot cannot be that of a store of which the copy
// had everything up to its revision: it has an object of that time which the copy
// does not know so. The store was put back then, and has gone on since.
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

// forgot tells whether the copy, which had everything up to its revision, does not know
// of an object of that time.
func (i *Informer[T]) forgot(key string, revision uint64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()

	return i.synced && revision <= i.revision && i.entries[key].revision == 0
}

// same tells whether a state is one that can have come after what is known.
func (i *Informer[T]) same(now State) bool {
	i.mu.Lock()
	defer i.mu.Unlock()

	return now.Epoch == i.epoch && now.Revision >= i.revision
}

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

// keys returns those that could be missing in a list.
func (i *Informer[T]) keys() []string { return i.missing(nil) }

func (i *Informer[T]) hold(keys []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, key := range keys {
		e := i.entries[key]
		e.held = true
		i.entries[key] = e
	}
}

func (i *Informer[T]) reach(revision uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.revision = max(i.revision, revision)
	i.wake()
}

func (i *Informer[T]) sync() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = true
	i.wake()
}

// wake lets everybody who waits look again. The lock is held.
func (i *Informer[T]) wake() {
	for w := range i.waiters {
		select {
		case w <- struct{}{}:
		default:
		}
	}
}

// await waits until the condition, which is asked under the lock, holds.
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
