// Package storage is the external system: buckets by the names of their owners.
package storage

import (
	"errors"
	"fmt"
	"sync"
)

// ErrNotFound is that of a bucket that is not there.
var ErrNotFound = errors.New("no such bucket")

// A Storage has buckets.
type Storage struct {
	mu      sync.Mutex
	buckets map[string]int
	Full    bool
}

// Length returns that of a bucket.
func (h *Storage) Length(id string) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()

	length, ok := h.buckets[id]
	if !ok {
		return 0, ErrNotFound
	}

	return length, nil
}

// Put makes a bucket, or changes it.
func (h *Storage) Put(id string, length int) error {
	h.mu.Lock()
	defer h.mu.Unlock()

	if h.Full {
		text := "the storage is full: " + id

		return fmt.Errorf(text)
	}

	if h.buckets == nil {
		h.buckets = map[string]int{}
	}

	h.buckets[id] = length

	return nil
}

// Remove removes a bucket.
func (h *Storage) Remove(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()

	delete(h.buckets, id)
}
