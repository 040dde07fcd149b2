package memory

import (
	"maps"

	"github.com/moorage-dev/moorage/pkg/store"
)

// Break ends all watches with ErrWatchEnded, as a lost connection does.
func (s *Store[T]) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(store.ErrWatchEnded)
}

// Recreate empties the store and begins another epoch, as if it had been deleted
// and made anew. Watches end with ErrReplaced.
func (s *Store[T]) Recreate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life++
	s.revision, s.entries = 0, map[string]store.Stored{}
	s.end(store.ErrReplaced)
}

// Vanish takes an entry away without a word to anybody who watches, as the expiry
// of a value does.
func (s *Store[T]) Vanish(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.entries, key)
}

// Purge takes an entry away and tells that its history went, too.
func (s *Store[T]) Purge(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(key, store.Purge)
}

// Write stores a value as it is, whatever it is.
func (s *Store[T]) Write(key string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.put(key, value)
}

// Backup returns a function that puts the store back to what it is now, in the
// same epoch, as the restoration of an old file does. Watches end then with
// ErrWatchEnded.
func (s *Store[T]) Backup() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	revision, entries := s.revision, maps.Clone(s.entries)

	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.revision, s.entries = revision, maps.Clone(entries)
		s.end(store.ErrWatchEnded)
	}
}

// end ends all watches. The lock is held.
func (s *Store[T]) end(reason error) {
	for w := range s.watchers {
		w.End(reason)
	}
	clear(s.watchers)
}
