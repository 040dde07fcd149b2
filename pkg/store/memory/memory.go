// Package memory implements a store in the memory of a process, for tests and for programs that need no persistence.
// Start with New. The store has the guarantees of a distributed store, and has methods to inject faults: broken
// watches, lost history, expired entries.
package memory

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// DefaultMaxValue is the default maximum size of a value, in bytes.
const DefaultMaxValue = 1 << 20

// A Store is a store in memory. It holds encoded values, so that a caller cannot modify them. Use New; the zero
// value is not usable. Its methods may be called concurrently.
type Store[T store.Object] struct {
	name     string
	rules    store.Rules
	maxValue int

	mu       sync.Mutex
	epoch    int // number of calls of Recreate
	revision uint64
	entries  map[string]store.Stored
	watchers map[*watcher[T]]struct{}
}

// An Option is an option of New.
type Option func(o *options)

type options struct {
	rules    store.Rules
	maxValue int
}

// WithRules sets the sources of time and UIDs. The default is the system clock and random UIDs.
func WithRules(r store.Rules) Option { return func(o *options) { o.rules = r } }

// WithMaxValue sets the maximum size of a value in bytes. The default is DefaultMaxValue.
func WithMaxValue(bytes int) Option { return func(o *options) { o.maxValue = bytes } }

// New returns an empty store.
func New[T store.Object](name string, o ...Option) *Store[T] {
	opts := options{maxValue: DefaultMaxValue}
	for _, apply := range o {
		apply(&opts)
	}

	return &Store[T]{
		name: name, rules: opts.rules, maxValue: opts.maxValue,
		entries: map[string]store.Stored{}, watchers: map[*watcher[T]]struct{}{},
	}
}

// Name returns the name given to New.
func (s *Store[T]) Name() string { return s.name }

// State returns the epoch and the revision.
func (s *Store[T]) State(ctx context.Context) (store.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.state(), ctx.Err()
}

func (s *Store[T]) state() store.State {
	return store.State{Epoch: strconv.Itoa(s.epoch), Revision: s.revision}
}

// Get returns the object of the key.
func (s *Store[T]) Get(ctx context.Context, key string) (T, error) {
	var none T
	if err := checkKey(ctx, key); err != nil {
		return none, err
	}
	s.mu.Lock()
	stored, ok := s.entries[key]
	s.mu.Unlock()
	if !ok {
		return none, store.ErrNotFound
	}

	return store.Decode[T](key, stored.Revision, stored.Value)
}

// List yields the objects that exist at the start of the iteration, in the order of revisions.
func (s *Store[T]) List(ctx context.Context, o ...store.ListOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		s.mu.Lock()
		all := s.snapshot(store.ListSelection(o...))
		s.mu.Unlock()
		var none T
		for _, stored := range all {
			if err := ctx.Err(); err != nil {
				yield(none, err)

				return
			}
			if !yield(store.Decode[T](stored.Key, stored.Revision, stored.Value)) {
				return
			}
		}
	}
}

// snapshot returns the entries in the order of their revisions.
func (s *Store[T]) snapshot(sel store.Selection) []store.Stored {
	all := slices.DeleteFunc(slices.Collect(maps.Values(s.entries)), func(e store.Stored) bool { return !sel.Has(e.Key) })
	slices.SortFunc(all, func(a, b store.Stored) int { return int(a.Revision) - int(b.Revision) })

	return all
}

// Create stores a new object.
func (s *Store[T]) Create(ctx context.Context, obj T) (T, error) {
	return s.write(ctx, obj, func(stored store.Stored) (store.Change, error) {
		if stored.Revision != 0 {
			return store.Change{}, store.ErrAlreadyExists
		}

		return s.rules.Create(obj)
	})
}

// Update replaces everything except the status.
func (s *Store[T]) Update(ctx context.Context, obj T) (T, error) {
	return s.write(ctx, obj, func(stored store.Stored) (store.Change, error) { return s.rules.Update(stored, obj) })
}

// UpdateStatus replaces the status.
func (s *Store[T]) UpdateStatus(ctx context.Context, obj T) (T, error) {
	return s.write(ctx, obj, func(stored store.Stored) (store.Change, error) { return s.rules.UpdateStatus(stored, obj) })
}

// write applies the change that decide returns for the stored entry. An entry with revision 0 does not exist.
func (s *Store[T]) write(ctx context.Context, obj T, decide func(store.Stored) (store.Change, error)) (T, error) {
	var none T
	if store.Absent(obj) {
		return none, errors.Wrap(store.ErrInvalid, "the object is nil")
	}
	m := obj.GetMetadata()
	if err := checkKey(ctx, m.Key); err != nil {
		return none, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	stored := s.entries[m.Key]
	if stored.Revision == 0 && m.Revision != 0 {
		return none, store.ErrNotFound
	}
	change, err := decide(stored)
	if err != nil {
		return none, err
	}
	if change.Remove {
		s.remove(m.Key, store.Delete)

		return store.Clone(obj)
	}
	if change.None() {
		return store.Decode[T](m.Key, stored.Revision, stored.Value)
	}
	if err := s.put(m.Key, change.Value); err != nil {
		return none, err
	}

	return store.Decode[T](m.Key, s.revision, change.Value)
}

// Delete removes the object, or sets its deletion timestamp if it has finalizers.
func (s *Store[T]) Delete(ctx context.Context, key string, o ...store.DeleteOption) error {
	if err := checkKey(ctx, key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	stored, ok := s.entries[key]
	if !ok {
		return store.ErrNotFound
	}
	change, err := s.rules.Delete(stored, store.DeletePreconditions(o...))
	switch {
	case err != nil:
		return err
	case change.Remove:
		s.remove(key, store.Delete)
	case change.Value != nil:
		return s.put(key, change.Value)
	}

	return nil
}

// Watch reports the existing objects and then changes.
func (s *Store[T]) Watch(ctx context.Context, o ...store.WatchOption) (store.Watcher[T], error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()

	sel := store.WatchSelection(o...)
	w := newWatcher[T](sel)
	for _, stored := range s.snapshot(sel) {
		w.add(putEvent[T](stored))
	}
	w.add(store.Event[T]{Synced: true, Revision: s.revision, Epoch: s.state().Epoch})
	s.watchers[w] = struct{}{}
	go w.run(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	})

	return w, nil
}

// putEvent returns the event of a stored value.
func putEvent[T store.Object](stored store.Stored) store.Event[T] {
	obj, err := store.Decode[T](stored.Key, stored.Revision, bytes.Clone(stored.Value))

	return store.Event[T]{Op: store.Put, Key: stored.Key, Revision: stored.Revision, Object: obj, Err: err}
}

// put writes a value. The caller holds the lock.
func (s *Store[T]) put(key string, value []byte) error {
	if len(value) > s.maxValue {
		return errors.Wrapf(store.ErrTooLarge, "%d bytes, more than %d", len(value), s.maxValue)
	}
	s.revision++
	stored := store.Stored{Key: key, Revision: s.revision, Value: value}
	s.entries[key] = stored
	for w := range s.watchers {
		w.add(putEvent[T](stored))
	}

	return nil
}

// remove deletes an entry and reports it to watches. The caller holds the lock.
func (s *Store[T]) remove(key string, op store.Op) {
	s.revision++
	delete(s.entries, key)
	for w := range s.watchers {
		w.add(store.Event[T]{Op: op, Key: key, Revision: s.revision})
	}
}

// checkKey returns an error for an ended context or an invalid key.
func checkKey(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !store.ValidKey(key) {
		return errors.Wrapf(store.ErrInvalid, "key %q", key)
	}

	return nil
}
