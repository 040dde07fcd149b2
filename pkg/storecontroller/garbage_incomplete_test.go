package storecontroller

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/store/memory"
)

// An incomplete store omits objects from lists and watches, like a replica that is behind or a truncated list. Get
// returns them, unless the store is unreachable.
type incomplete struct {
	*memory.Store[*thing]

	omits       func(key string) bool
	unreachable bool
}

var errUnreachable = errors.New("the store is unreachable")

func (s *incomplete) Get(ctx context.Context, key string) (*thing, error) {
	if s.unreachable {
		return nil, errUnreachable
	}

	return s.Store.Get(ctx, key)
}

func (s *incomplete) List(ctx context.Context, o ...store.ListOption) iter.Seq2[*thing, error] {
	return func(yield func(*thing, error) bool) {
		for obj, err := range s.Store.List(ctx, o...) {
			if err == nil && s.omits(obj.Metadata.Key) {
				continue
			}
			if !yield(obj, err) {
				return
			}
		}
	}
}

func (s *incomplete) Watch(ctx context.Context, o ...store.WatchOption) (store.Watcher[*thing], error) {
	inner, err := s.Store.Watch(ctx, o...)
	if err != nil {
		return nil, err
	}
	w := &incompleteWatcher{Watcher: inner, events: make(chan store.Event[*thing])}
	go func() {
		defer close(w.events)
		for e := range inner.Events() {
			if e.Synced || !s.omits(e.Key) {
				select {
				case w.events <- e:
				case <-ctx.Done():
				}
			}
		}
	}()

	return w, nil
}

type incompleteWatcher struct {
	store.Watcher[*thing]

	events chan store.Event[*thing]
}

func (w *incompleteWatcher) Events() <-chan store.Event[*thing] { return w.events }

// TestGarbageIncompleteList checks that a primary that a list or a watch omits is not deleted, and its secondaries are
// kept.
func TestGarbageIncompleteList(t *testing.T) {
	cases := map[string]struct {
		reason      string
		omits       func(key string) bool
		unreachable bool
	}{
		"One":    {reason: "One primary is missing.", omits: func(key string) bool { return key == "b" }},
		"All":    {reason: "All primaries are missing.", omits: func(string) bool { return true }},
		"Unsure": {reason: "The store is unreachable.", omits: func(string) bool { return true }, unreachable: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{Resync: time.Hour}, func(w *world) {
				w.skipParts = true
				w.informer = store.NewInformer[*thing](&incomplete{w.primaries, tc.omits, tc.unreachable},
					store.InformerOptions{Resync: time.Minute})
				for _, key := range []string{"a", "b", "c"} {
					owner := w.create(key, 1)
					w.part(key, store.Owner{Kind: "thing", Key: key, UID: owner.Metadata.UID, Epoch: "0",
						Revision: owner.Metadata.Revision})
				}
			}, func(w *world) {
				w.advance(10 * time.Hour)
				w.expectParts("a", "b", "c")
				w.events.expect(t)
			})
		})
	}
}
