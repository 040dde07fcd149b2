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

// A short store leaves out of lists and watches what it has, as a replica does that is
// behind, or a list that was cut off; Get alone tells the truth, unless it is deaf.
type short struct {
	*memory.Store[*thing]

	leavesOut func(key string) bool
	deaf      bool
}

var errDeaf = errors.New("nobody answers")

func (s *short) Get(ctx context.Context, key string) (*thing, error) {
	if s.deaf {
		return nil, errDeaf
	}

	return s.Store.Get(ctx, key)
}

func (s *short) List(ctx context.Context, o ...store.ListOption) iter.Seq2[*thing, error] {
	return func(yield func(*thing, error) bool) {
		for obj, err := range s.Store.List(ctx, o...) {
			if err == nil && s.leavesOut(obj.Metadata.Key) {
				continue
			}
			if !yield(obj, err) {
				return
			}
		}
	}
}

func (s *short) Watch(ctx context.Context, o ...store.WatchOption) (store.Watcher[*thing], error) {
	inner, err := s.Store.Watch(ctx, o...)
	if err != nil {
		return nil, err
	}
	w := &shortWatcher{Watcher: inner, events: make(chan store.Event[*thing])}
	go func() {
		defer close(w.events)
		for e := range inner.Events() {
			if e.Synced || !s.leavesOut(e.Key) {
				select {
				case w.events <- e:
				case <-ctx.Done():
				}
			}
		}
	}()

	return w, nil
}

type shortWatcher struct {
	store.Watcher[*thing]

	events chan store.Event[*thing]
}

func (w *shortWatcher) Events() <-chan store.Event[*thing] { return w.events }

// TestGarbageWhenAListIsShort: what a list, or a watch from its beginning, leaves out is
// not gone: neither are its secondaries, however often the collector looks.
func TestGarbageWhenAListIsShort(t *testing.T) {
	cases := map[string]struct {
		reason    string
		leavesOut func(key string) bool
		deaf      bool
	}{
		"One":    {reason: "One is missing.", leavesOut: func(key string) bool { return key == "b" }},
		"All":    {reason: "All are missing.", leavesOut: func(string) bool { return true }},
		"Unsure": {reason: "Nobody can be asked.", leavesOut: func(string) bool { return true }, deaf: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inWorld(t, Options{Resync: time.Hour}, func(w *world) {
				w.lazy = true
				w.informer = store.NewInformer[*thing](&short{w.primaries, tc.leavesOut, tc.deaf}, store.InformerOptions{Resync: time.Minute})
				for _, key := range []string{"a", "b", "c"} {
					owner := w.create(key, 1)
					w.part(key, store.Owner{Kind: "thing", Key: key, UID: owner.Metadata.UID, Epoch: "0", Revision: owner.Metadata.Revision})
				}
			}, func(w *world) {
				w.pass(10 * time.Hour)
				w.have("a", "b", "c")
				w.events.said(t)
			})
		})
	}
}
