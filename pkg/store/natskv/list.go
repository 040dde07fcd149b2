package natskv

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// tries of a list to begin again when its watch ends.
const tries = 3

// List yields what there is when a watch has told everything, the oldest revision first. All
// of it is in memory then: a watch may be at a replica that is behind, and tell of an object
// before it tells that this was deleted. If the watch may have missed something, the list
// begins again with another one, a few times. It fails with store.ErrReplaced if the bucket
// is another one then.
func (s *Store[T]) List(ctx context.Context, o ...store.ListOption) iter.Seq2[T, error] {
	return s.list(ctx, store.ListSelection(o...), func(int) {})
}

// list calls told after each event, with the number of those of its watch.
func (s *Store[T]) list(ctx context.Context, sel store.Selection, told func(n int)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		epoch := "" // of the bucket; empty before the first watch
		for try := 1; ; try++ {
			all, err := s.snapshot(ctx, sel, &epoch, told)
			again := errors.Is(err, store.ErrWatchEnded) && !errors.Is(err, store.ErrReplaced)
			if err != nil && (!again || try == tries) {
				var none T
				yield(none, err)

				return
			}
			if err != nil {
				continue
			}
			for _, e := range all {
				if !yield(e.Object, e.Err) {
					return
				}
			}

			return
		}
	}
}

// snapshot returns what a watch tells until it has told everything.
func (s *Store[T]) snapshot(ctx context.Context, sel store.Selection, epoch *string,
	told func(n int)) ([]store.Event[T], error) {
	w, err := s.watch(ctx, sel)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	if *epoch != "" && *epoch != w.start.Epoch {
		return nil, store.ErrReplaced
	}
	*epoch = w.start.Epoch

	return collect(w, told)
}

// collect returns what there is of each key when the watch has told everything.
func collect[T store.Object](w store.Watcher[T], told func(n int)) ([]store.Event[T], error) {
	last, n := map[string]store.Event[T]{}, 0
	for e := range w.Events() {
		switch {
		case e.Synced:
			return slices.SortedFunc(maps.Values(last),
				func(a, b store.Event[T]) int { return cmp.Compare(a.Revision, b.Revision) }), nil
		case e.Op == store.Put:
			last[e.Key] = e
		default:
			delete(last, e.Key)
		}
		n++
		told(n)
	}

	if err := w.Err(); err != nil {
		return nil, err
	}

	return nil, store.ErrWatchEnded // which is no list, whoever stopped it
}
