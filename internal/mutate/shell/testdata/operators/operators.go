// Package operators has a function for each thing that a mutant changes, and for what none does.
package operators

import (
	"errors"
	"fmt"
	"sync"
)

type Logger struct{}

func (Logger) Debug(string, ...any) {}

type box struct {
	mu   sync.Mutex
	full bool
	size int
	log  Logger
}

const limit = 7

func (b *box) conditions(a, c int, ok bool) bool {
	if a == c {
		return false
	}
	for a < 5 {
		a += c
	}
	if !ok || a > c {
		return b.full
	}
	return ok && b.full
}

func (b *box) cases(a int) int {
	switch {
	case a > limit:
		return a
	case b.full:
		return b.size
	default:
		return 0
	}
}

func (b *box) removals() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.size++
	b.full = true
	b.log.Debug("full", "size", b.size)
	fresh := b.size
	_ = fresh
}

func (b *box) order(ask func() error) error {
	if b.full {
		return nil
	}
	if err := ask(); err != nil {
		return fmt.Errorf("cannot ask box %d of %d: %w", b.size, limit, err)
	}
	size := b.size
	twice := b.size
	b.size = size + twice
	return errors.New("empty")
}

func pairs(a, b int, c string) (int, int, box) {
	_ = max(a, b) - a
	return between(a, b, c), between(b, a, c), box{full: false, size: len(c)}
}

func between(a, b int, text string) int {
	if text != "" && text != "some words" {
		return 2
	}
	return make([]int, 3)[0] / (a - b)
}

func swapped(l Logger, f func()) (label string) {
	f()
	later := func() { label = "later" }
	later()
	l.Debug("x", "a", "b")
	go f()
	return label + "-" + "end"
}
