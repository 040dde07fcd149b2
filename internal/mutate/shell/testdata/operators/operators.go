// Package operators has a function for each thing that a mutant changes, and for what none does.
package operators

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/moorage-dev/moorage/internal/mutate/shell/testdata/operators/telemetry"
)

type Logger struct{}

func (Logger) Debug(string, ...any) {}

func (l Logger) WithValues(...any) Logger { return l }

var errEmpty = errors.New("empty")

type box struct {
	mu   sync.Mutex
	full bool
	size int
	log  Logger
	name string
}

func (b *box) SetName(name string) { b.name = name }
func (b *box) GetName() string     { return b.name }
func (b *box) SetSize(size int)    { b.size = size }

type BoxOption func(*box)

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

func (b *box) silent(ask func() error) (bool, error) {
	if b.full && b.size > 1 {
		b.log.Debug("full")
	}
	if err := ask(); err != nil {
		return false, err
	}
	if err := ask(); err != nil && b.full {
		return false, fmt.Errorf("cannot ask again: %w", err)
	}
	if slices.Equal([]string{b.name}, nil) {
		return false, errors.New("empty")
	}
	return false, ask()
}

func (b *box) commuting(m map[string]int, text string) string {
	delete(m, text)
	delete(m, b.name)
	b.SetSize(len(text))
	b.SetName(text)
	telemetry.Counted()
	b.mu.Lock()
	b.SetName(text)
	b.SetSize(len(b.GetName()))
	return "the box " + text + b.name
}

func (b *box) options(full, empty BoxOption) ([]BoxOption, []any) {
	return []BoxOption{full, empty}, []any{full, empty}
}

func (b *box) excluding(err error, ok bool) {
	switch {
	case b.full && ok:
	case !b.full && ok:
	case err == nil && ok:
	case errors.Is(err, errEmpty):
	case b.name == "a":
	case b.name == "b":
	}
}

func (b *box) overlapping(ask func() int, list []int, ok bool) {
	switch {
	case ask() == 1:
	case ask() == 2:
	case list[0] == 1:
	case list[0] == 2:
	}
	switch {
	case ok && b.full:
		fallthrough
	case !ok:
	}
}

func (b *box) defaults(o box, p *box, ok bool, text string) (box, error) {
	if ok {
		return box{}, errEmpty
	}
	if o.full {
		o.size = b.size
	}
	if b.full {
		return o, nil
	}
	p.size = b.size
	b.full = slices.Contains([]string{"a", "b"}, text) || slices.Contains([]string{b.name, text}, "c")
	b.log = b.log.WithValues("a", b.name)
	return o, nil
}
