package kube

import (
	"context"
	"maps"
	"slices"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// compare sends the deletions of objects that were removed without an event. It returns false if the watch was stopped.
// It reads an object that is missing in a list before it counts as deleted, because a list may be incomplete. If the
// store does not respond, compare sends nothing, and the next comparison tries again. A watch that cannot continue ends
// by itself.
func (w *watcher) compare(ctx context.Context) bool {
	if !w.synced || len(w.known) == 0 {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // stopping the watch cancels the requests
		select {
		case <-w.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	gone, err := w.vanished(ctx)
	if err != nil && ctx.Err() == nil {
		w.log.Error(err, "cannot compare the reported objects with the store", "kind", w.kind.GVK.Kind)
	}
	for _, key := range gone {
		e, ok := w.deleted(storeEvent{Event: store.Event[struct{}]{Key: key, Revision: w.reached}})
		if ok && !w.send(e) {
			return false
		}
	}

	return true
}

// vanished returns the keys of reported objects that the store does not have.
func (w *watcher) vanished(ctx context.Context) (gone []string, err error) {
	missing := maps.Clone(w.known)
	err = w.kind.entries.list(ctx, w.selection.prefix, func(image map[string]any) bool {
		delete(missing, path(image))

		return true
	}, func(err error) {
		var bad *store.EntryError
		if errors.As(err, &bad) {
			delete(missing, bad.Key)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		_, err := w.kind.entries.get(ctx, key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			gone = append(gone, key)
		case err != nil && !errors.Is(err, store.ErrUndecodable):
			return gone, err
		}
	}

	return gone, nil
}
