// Package harbour is the external system: berths by the names of their ships.
package harbour

import (
	"errors"
	"fmt"
	"sync"
)

// ErrNotFound is that of a berth that is not there.
var ErrNotFound = errors.New("no such berth")

// A Harbour has berths.
type Harbour struct {
	mu     sync.Mutex
	berths map[string]int
	Full   bool
}

// Length returns that of a berth.
func (h *Harbour) Length(id string) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()

	length, ok := h.berths[id]
	if !ok {
		return 0, ErrNotFound
	}

	return length, nil
}

// Put makes a berth, or changes it.
func (h *Harbour) Put(id string, length int) error {
	h.mu.Lock()
	defer h.mu.Unlock()

	if h.Full {
		text := "the harbour is full: " + id

		return fmt.Errorf(text)
	}

	if h.berths == nil {
		h.berths = map[string]int{}
	}

	h.berths[id] = length

	return nil
}

// Remove removes a berth.
func (h *Harbour) Remove(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()

	delete(h.berths, id)
}
