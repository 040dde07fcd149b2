package memory

import (
	"maps"

	"github.com/moorage-dev/moorage/pkg/store"
)

// Break ends all watches with ErrWatchEnded, as a lost connection does.
func (s *Store[T]) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endWatches(store.ErrWatchEnded)
}

// Recreate empties the store and starts a new epoch, as if the store had been deleted and created again. Watches end
// with ErrReplaced.
func (s *Store[T]) Recreate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch++
	s.revision, s.entries = 0, map[string]store.Stored{}
	s.endWatches(store.ErrReplaced)
}

// Vanish removes an entry without an event, as the expiry of a value does.
func (s *Store[T]) Vanish(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, key)
}

// Purge removes an entry, and reports that its history was removed as well.
func (s *Store[T]) Purge(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(key, store.Purge)
}

// Write stores a raw value, which may be invalid.
func (s *Store[T]) Write(key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.put(key, value)
}

// Backup returns a function that restores the current state in the same epoch. Watches then end with ErrWatchEnded.
func (s *Store[T]) Backup() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	revision, entries := s.revision, maps.Clone(s.entries)

	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.revision, s.entries = revision, maps.Clone(entries)
		s.endWatches(store.ErrWatchEnded)
	}
}

// endWatches ends all watches. The caller holds the lock.
func (s *Store[T]) endWatches(reason error) {
	for w := range s.watchers {
		w.End(reason)
	}
	clear(s.watchers)
}
