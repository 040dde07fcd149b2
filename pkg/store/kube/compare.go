package kube

import (
	"context"
	"maps"
	"slices"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// compare tells of what went without an event, and whether anybody listens. What a
// list does not have is asked for before it counts as gone: a list may be short. If
// the store does not answer, the next time is soon enough: a watch that cannot go on
// ends by itself.
func (w *watcher) compare(ctx context.Context) bool {
	if !w.synced || len(w.known) == 0 {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // who stops the watch does not wait for the answers
		select {
		case <-w.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	gone, err := w.vanished(ctx)
	if err != nil && ctx.Err() == nil {
		w.log.Error(err, "cannot compare what was told with the store", "kind", w.kind.gvk.Kind)
	}
	for _, key := range gone {
		e, told := w.deleted(happening{Event: store.Event[struct{}]{Key: key, Revision: w.reached}})
		if told && !w.send(e) {
			return false
		}
	}

	return true
}

// vanished returns the keys that were told of and that the store does not have.
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
