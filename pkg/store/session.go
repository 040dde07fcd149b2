package store

import (
	"context"
	"slices"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A session is the state of one watch of an informer.
type session[T Object] struct {
	informer *Informer[T]
	rewatch  bool                // this is not the first watch
	synced   bool                // the snapshot is complete
	seen     map[string]struct{} // the keys of the snapshot
	snapshot []Event[T]          // events of a new watch before its epoch is known
}

// handle processes an event. An error ends the watch.
func (s *session[T]) handle(ctx context.Context, e Event[T]) error {
	switch {
	case e.Synced && !s.synced:
		return s.completeSnapshot(ctx, e)
	case e.Synced:
		s.informer.advanceRevision(e.Revision)
	case !s.synced && s.rewatch:
		// Revisions cannot be compared before the epoch is known.
		s.snapshot = append(s.snapshot, e)
	default:
		from := fromWatch
		if !s.synced {
			from = fromSnapshot
		}
		s.apply(e, from)
	}

	return nil
}

// apply applies an event to the cache, and logs an entry that cannot be decoded.
func (s *session[T]) apply(e Event[T], from origin) {
	i := s.informer
	if !s.synced {
		s.seen[e.Key] = struct{}{}
	}
	if e.Err != nil {
		i.logger().Info("Skipping an entry that cannot be decoded",
			"store", i.store.Name(), "key", e.Key, "error", e.Err.Error())
	}
	i.apply(e, from)
}

// maxLiveReads limits the live reads of unknown keys in one snapshot or list.
const maxLiveReads = 1000

// dropStale removes deleted keys from the snapshot that a stale replica still has. Neither the cache nor a live read
// finds these keys. After a restore from a backup a live read finds the objects, and dropStale keeps them.
func (s *session[T]) dropStale(ctx context.Context, e Event[T]) error {
	i := s.informer
	if !i.continues(State{Epoch: e.Epoch, Revision: e.Revision}) {
		return nil
	}
	last, dead := map[string]Event[T]{}, map[string]bool{}
	for _, event := range s.snapshot {
		last[event.Key] = event
	}
	for key, event := range last {
		if event.Op != Put || !i.isUnknown(key, event.Revision) {
			continue
		}
		exists, err := s.exists(ctx, key)
		if err != nil {
			return err
		}
		if exists || len(dead) == maxLiveReads {
			break
		}
		dead[key] = true
	}
	s.snapshot = slices.DeleteFunc(s.snapshot, func(event Event[T]) bool { return dead[event.Key] })

	return nil
}

// exists returns whether a live read finds the key.
func (s *session[T]) exists(ctx context.Context, key string) (bool, error) {
	_, err := s.informer.store.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if errors.Is(err, ErrUndecodable) {
		return true, nil
	}

	return err == nil, errors.Wrapf(err, "cannot read %q, which is not in the cache", key)
}

// completeSnapshot ends the snapshot. Missing keys are deleted after a live read, or held if the store was
// replaced.
func (s *session[T]) completeSnapshot(ctx context.Context, e Event[T]) error {
	i := s.informer
	if err := s.dropStale(ctx, e); err != nil {
		return err
	}
	replaced := i.setEpoch(e, s.snapshot, s.rewatch)
	if replaced {
		i.logger().Info("The store was replaced: missing objects are held, not deleted",
			"store", i.store.Name(), "epoch", e.Epoch, "revision", e.Revision)
	}
	for _, event := range s.snapshot {
		s.seen[event.Key] = struct{}{}
	}
	missing := i.missing(s.seen)
	if replaced { // before handlers are notified of the new objects, and may read the former ones
		i.hold(missing)
	}
	for _, event := range s.snapshot {
		s.apply(event, fromWatch)
	}
	s.snapshot, s.synced, s.seen = nil, true, nil
	if !replaced {
		if err := s.confirmDeleted(ctx, missing); err != nil {
			return err
		}
	}
	i.advanceRevision(e.Revision)
	i.setSynced()

	return nil
}

// confirmDeleted reads each missing key, and deletes those that do not exist. If there are too many of them, it
// holds them.
func (s *session[T]) confirmDeleted(ctx context.Context, missing []string) error {
	i := s.informer
	var gone []string
	for _, key := range missing {
		obj, err := i.store.Get(ctx, key)
		switch {
		case errors.Is(err, ErrNotFound):
			gone = append(gone, key)
		case errors.Is(err, ErrUndecodable):
		case err != nil:
			return errors.Wrapf(err, "cannot read %q, which is missing", key)
		default:
			i.apply(Event[T]{Op: Put, Key: key, Revision: obj.GetMetadata().Revision, Object: obj}, fromRead)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	// NotFound is valid only if this is still the store that the informer follows.
	state, err := i.store.State(ctx)
	if err != nil {
		return errors.Wrap(err, "cannot read the state of the store")
	}
	if !i.continues(state) {
		return ErrReplaced
	}
	if most := i.opts.MaxVanished; !state.Expires && most >= 0 && len(gone) > most {
		i.logger().Info("Too many objects are missing at once: they are held, not deleted",
			"store", i.store.Name(), "objects", len(gone), "most", most)
		i.hold(gone)

		return nil
	}
	for _, key := range gone {
		i.apply(Event[T]{Op: Delete, Key: key}, fromRead)
	}

	return nil
}

// resync compares the cache with a list, to find objects that were removed without an event, and lost events.
func (s *session[T]) resync(ctx context.Context) error {
	i := s.informer
	if !s.synced {
		return nil
	}
	state, err := i.store.State(ctx)
	if err != nil {
		return errors.Wrap(err, "cannot read the state of the store")
	}
	if !i.continues(state) {
		return ErrReplaced
	}
	before, listed, liveReads := i.keys(), map[string]struct{}{}, 0
	for obj, err := range i.store.List(ctx) {
		var bad *EntryError
		switch {
		case errors.As(err, &bad):
			listed[bad.Key] = struct{}{}
		case err != nil:
			return errors.Wrap(err, "cannot list")
		default:
			m := obj.GetMetadata()
			listed[m.Key] = struct{}{}
			if liveReads < maxLiveReads && i.isUnknown(m.Key, m.Revision) {
				liveReads++
				if exists, err := s.exists(ctx, m.Key); err != nil {
					return err
				} else if !exists {
					continue
				}
			}
			i.apply(Event[T]{Op: Put, Key: m.Key, Revision: m.Revision, Object: obj}, fromRead)
		}
	}
	var missing []string
	for _, key := range before {
		if _, ok := listed[key]; !ok {
			missing = append(missing, key)
		}
	}

	return s.confirmDeleted(ctx, missing)
}
