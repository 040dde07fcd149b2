package natskv

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// complete ends the snapshot if it is complete. It is complete when the client has received every message that the
// leader had when the watch began, except deleted ones. It is not enough that the consumer has no further messages,
// because its replica may be stale. Nor does every message that the consumer announced have to arrive: a later message
// of the same key may have replaced it.
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
			return // check tries again
		}
	}
	w.synced, w.seen = true, max(w.seen, w.start.Revision)
	w.sendSynced()
}

// outstanding returns whether the leader has a message that the watch has not received. A higher sequence alone does
// not show that, because entries expire. It returns store.ErrReplaced if the bucket was replaced.
func (w *watcher[T]) outstanding(ctx context.Context) (bool, error) {
	asked, cancel := context.WithTimeout(ctx, probeTimeout)
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

// check asks the leader of the stream two things: whether the stream is still the watched one, and whether a message
// has been undelivered since the last check. If the leader does not respond, missing heartbeats end the watch.
func (w *watcher[T]) check(ctx context.Context) {
	now, err := w.probe(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrWrongKind):
		w.fail(errors.Errorf("%w: %w", store.ErrReplaced, err))
	case err != nil:
	case now.Epoch != w.start.Epoch, now.Revision < w.seen:
		w.End(store.ErrReplaced)
	case !w.synced:
		w.pending = false // it was announced at least one check ago
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
		w.fail(errors.Errorf("revision %d was not delivered, although there is %d", w.seen+1, now.Revision))
	case w.synced:
		w.seen = now.Revision
		w.sendSynced()
	}
}

// sendSynced sends the event that everything up to the received revision was delivered.
func (w *watcher[T]) sendSynced() {
	w.send(store.Event[T]{Synced: true, Revision: w.seen, Epoch: w.start.Epoch})
}
