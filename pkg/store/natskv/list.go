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

// listAttempts is the maximum number of watches that one list starts.
const listAttempts = 3

// List yields the objects in the order of their revisions. It first collects the snapshot of a watch in memory, because
// a watch of a stale replica may report an object before it reports the deletion of that object. If the watch may have
// missed an event, List starts another watch. It starts at most three. It fails with store.ErrReplaced if the bucket
// was replaced meanwhile.
func (s *Store[T]) List(ctx context.Context, o ...store.ListOption) iter.Seq2[T, error] {
	return s.list(ctx, store.ListSelection(o...), func(int) {})
}

// list implements List. It calls received after each event, with the number of events that the current watch has sent.
func (s *Store[T]) list(ctx context.Context, sel store.Selection, received func(n int)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		epoch := "" // of the bucket; empty before the first watch
		for try := 1; ; try++ {
			all, err := s.snapshot(ctx, sel, &epoch, received)
			again := errors.Is(err, store.ErrWatchEnded) && !errors.Is(err, store.ErrReplaced)
			if err != nil && (!again || try == listAttempts) {
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

// snapshot returns the snapshot of a watch.
func (s *Store[T]) snapshot(ctx context.Context, sel store.Selection, epoch *string,
	received func(n int)) ([]store.Event[T], error) {
	w, err := s.watch(ctx, sel)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	if *epoch != "" && *epoch != w.start.Epoch {
		return nil, store.ErrReplaced
	}
	*epoch = w.start.Epoch

	return collect(w, received)
}

// collect returns the last event of each key when the snapshot is complete.
func collect[T store.Object](w store.Watcher[T], received func(n int)) ([]store.Event[T], error) {
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
		received(n)
	}

	if err := w.Err(); err != nil {
		return nil, err
	}

	return nil, store.ErrWatchEnded // the snapshot is incomplete
}
