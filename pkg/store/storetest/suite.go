// Package storetest is the test suite for adapters of package store. Every adapter has to pass it. Call Run in a test
// of the adapter.
package storetest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A Subject is a store under test, with functions that inject faults into it. Each test gets an empty store. A function
// may be nil if the store cannot have that fault. Its tests are then skipped, and the log of the test names them.
type Subject struct {
	// Store is the store.
	Store store.Store[*Thing]

	// BadKeys are keys that the store rejects. The suite also tests the empty key, which every store rejects.
	BadKeys []string

	// TooLarge is a size of a value in bytes that the store rejects. 0 means that there is no limit.
	TooLarge int

	// Corrupt stores a value that cannot be decoded under the key.
	Corrupt func(ctx context.Context, key string) error

	// Vanish deletes an entry without an event.
	Vanish func(ctx context.Context, key string) error

	// Sever interrupts the connections of all watches.
	Sever func(ctx context.Context) error

	// Recreate deletes the store with its content, and creates an empty store of the same name.
	Recreate func(ctx context.Context) error

	// Restart stops the server of the store and starts it again. The content of the store is kept.
	Restart func(ctx context.Context) error
}

// lacks returns the names of the optional functions that the subject does not have.
func (s Subject) lacks() (out []string) {
	for _, has := range []struct {
		name string
		is   bool
	}{
		{"BadKeys", len(s.BadKeys) > 0},
		{"TooLarge", s.TooLarge > 0},
		{"Corrupt", s.Corrupt != nil},
		{"Vanish", s.Vanish != nil},
		{"Sever", s.Sever != nil},
		{"Recreate", s.Recreate != nil},
		{"Restart", s.Restart != nil},
	} {
		if !has.is {
			out = append(out, has.name)
		}
	}

	return out
}

// A suite is a test and its subject.
type suite struct {
	*testing.T
	Subject
	ctx   context.Context                //nolint:containedctx // That of the test.
	whole map[store.Watcher[*Thing]]bool // the watches whose snapshot is complete
}

// Run runs the suite. newSubject returns an empty store for each test.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	t.Helper()
	once := sync.Once{}
	tell := func(sub Subject) Subject {
		once.Do(func() {
			if lacks := sub.lacks(); len(lacks) > 0 {
				t.Logf("What this store cannot have is not tested: %s", strings.Join(lacks, ", "))
			}
		})

		return sub
	}
	groups := map[string]map[string]func(*suite){
		"Write": writes, "Delete": deletions, "Watch": watches, "Input": inputs, "Informer": informers,
	}
	for group, tests := range groups {
		t.Run(group, func(t *testing.T) {
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					test(&suite{
						T: t, Subject: tell(newSubject(t)), ctx: wait.Context(t),
						whole: map[store.Watcher[*Thing]]bool{},
					})
				})
			}
		})
	}
}

// create stores a new thing.
func (s *suite) create(key string, size int) *Thing {
	s.Helper()
	out, err := s.Store.Create(s.ctx, NewThing(key, size))
	s.must("create "+key, err)

	return out
}

func (s *suite) get(key string) *Thing {
	s.Helper()
	out, err := s.Store.Get(s.ctx, key)
	s.must("get "+key, err)

	return out
}

func (s *suite) update(t *Thing) *Thing {
	s.Helper()
	out, err := s.Store.Update(s.ctx, t)
	s.must("update "+t.Metadata.Key, err)

	return out
}

func (s *suite) must(what string, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("cannot %s: %v", what, err)
	}
}

// is checks that an error matches want.
func (s *suite) is(what string, err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

// list returns the sizes of the listed things by key, and the keys of entries that
// cannot be decoded.
func (s *suite) list(o ...store.ListOption) (sizes map[string]int, bad []string) {
	s.Helper()
	sizes = map[string]int{}
	for t, err := range s.Store.List(s.ctx, o...) {
		var entry *store.EntryError
		if errors.As(err, &entry) {
			bad = append(bad, entry.Key)

			continue
		}
		s.must("list", err)
		sizes[t.Metadata.Key] = t.Spec.Size
	}

	return sizes, bad
}
