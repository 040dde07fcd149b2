package natskv

import (
	"context"
	"iter"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// tries of a list to go on when its watch ends.
const tries = 3

// List yields what a watch tells until it has told everything. If the watch may have
// missed something, another one goes on, a few times; what was yielded is not yielded
// again. It fails with store.ErrReplaced if the bucket is another one then.
func (s *Store[T]) List(ctx context.Context, o ...store.ListOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		l := listing[T]{yield: yield, yielded: map[string]bool{}}
		sel := store.ListSelection(o...)
		for try := 1; ; try++ {
			done, err := l.goOn(ctx, s, sel)
			if done {
				return
			}
			again := errors.Is(err, store.ErrWatchEnded) && !errors.Is(err, store.ErrReplaced)
			if !again || try == tries {
				var none T
				yield(none, err)

				return
			}
		}
	}
}

// A listing is a list that is under way.
type listing[T store.Object] struct {
	yield   func(T, error) bool
	yielded map[string]bool
	epoch   string // of the bucket; empty before the first watch
}

// goOn yields what was not yielded yet, and tells whether that was all, or all that is
// wanted.
func (l *listing[T]) goOn(ctx context.Context, s *Store[T], sel store.Selection) (done bool, err error) {
	w, err := s.watch(ctx, sel)
	if err != nil {
		return false, err
	}
	defer w.Stop()
	if l.epoch != "" && l.epoch != w.start.Epoch {
		return false, store.ErrReplaced
	}
	l.epoch = w.start.Epoch
	for e := range w.Events() {
		switch {
		case e.Synced:
			return true, nil
		case e.Op != store.Put || l.yielded[e.Key]:
		default:
			l.yielded[e.Key] = true
			if !l.yield(e.Object, e.Err) {
				return true, nil
			}
		}
	}

	return false, w.Err()
}
