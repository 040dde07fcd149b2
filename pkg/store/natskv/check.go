package natskv

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// complete ends the snapshot if it is one. That the consumer has no more is not
// enough: it may be at a replica that is behind. What the leader had when the watch
// began must have come, or be gone by now. What the consumer says is coming may never
// come: it was replaced, and the other one has come already.
func (w *watcher[T]) complete(ctx context.Context) {
	if w.synced {
		return
	}
	if w.seen < w.start.Revision {
		if w.pending {
			return
		}
		outstanding, err := w.outstanding(ctx)
		if err != nil || outstanding {
			return // check asks again
		}
	}
	w.synced, w.seen = true, max(w.seen, w.start.Revision)
	w.tell()
}

// outstanding tells whether the leader has a message that was not delivered. The
// sequence may have gone on without: entries expire. That another bucket, which has
// taken the place of this one, has none says nothing: store.ErrReplaced.
func (w *watcher[T]) outstanding(ctx context.Context) (bool, error) {
	asked, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()

	_, err := w.bucket.message(asked, messageRequest{NextFor: w.bucket.subject(">"), Seq: w.seen + 1})
	if !errors.Is(err, store.ErrNotFound) {
		return true, err
	}
	now, err := w.probe(ctx)
	if err == nil && now.Epoch != w.start.Epoch {
		err = store.ErrReplaced
	}

	return err != nil, err
}

// check asks the leader whether the stream is still the one that is watched, and
// whether it has what was not delivered, for as long as from one check to the next.
// If it cannot be asked, heartbeats tell whether the watch is alive.
func (w *watcher[T]) check(ctx context.Context) {
	now, err := w.probe(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrWrongKind):
		w.doubt(errors.Errorf("%w: %w", store.ErrReplaced, err))
	case err != nil:
	case now.Epoch != w.start.Epoch, now.Revision < w.seen:
		w.End(store.ErrReplaced)
	case !w.synced:
		w.pending = false // that was some time ago
		w.complete(ctx)
		w.stalled(ctx, now)
	case now.Revision > w.seen:
		w.stalled(ctx, now)
	}
}

func (w *watcher[T]) stalled(ctx context.Context, now store.State) {
	if now.Revision <= w.seen {
		return
	}
	if w.idle != w.seen+1 {
		w.idle = w.seen + 1 // one more, so that nothing seen is not the zero value

		return
	}
	outstanding, err := w.outstanding(ctx)
	switch {
	case err != nil:
	case outstanding:
		w.doubt(errors.Errorf("revision %d was not delivered, although there is %d", w.seen+1, now.Revision))
	case w.synced:
		w.seen = now.Revision
		w.tell()
	}
}

// tell says that everything has been told up to what was seen.
func (w *watcher[T]) tell() {
	w.send(store.Event[T]{Synced: true, Revision: w.seen, Epoch: w.start.Epoch})
}
