package store

import (
	"context"
	"slices"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// A session is one watch of an informer.
type session[T Object] struct {
	informer *Informer[T]
	again    bool                // there was one before
	synced   bool                // its snapshot is complete
	seen     map[string]struct{} // the keys of the snapshot
	early    []Event[T]          // the snapshot of a store that may not be the one we know
}

// take applies an event. An error ends the watch.
func (s *session[T]) take(ctx context.Context, e Event[T]) error {
	switch {
	case e.Synced && !s.synced:
		return s.complete(ctx, e)
	case e.Synced:
		s.informer.reach(e.Revision)
	case !s.synced && s.again:
		// Whether a revision is older than the one we have cannot be told before
		// the epoch is known.
		s.early = append(s.early, e)
	default:
		from := told
		if !s.synced {
			from = initial
		}
		s.apply(e, from)
	}

	return nil
}

func (s *session[T]) apply(e Event[T], from origin) {
	i := s.informer
	if !s.synced {
		s.seen[e.Key] = struct{}{}
	}
	if e.Err != nil {
		i.logger().Info("Skipping an entry that cannot be decoded", "store", i.store.Name(), "key", e.Key, "error", e.Err.Error())
	}
	i.apply(e, from)
}

// mostAsked is how many objects are asked for at a time that are named and not known.
const mostAsked = 1000

// bury takes out of the snapshot what is not there any more, and of which the copy knew
// that already: a replica that is behind still names it, and no store was put back. One
// that was has what it names.
func (s *session[T]) bury(ctx context.Context, e Event[T]) error {
	i := s.informer
	if !i.same(State{Epoch: e.Epoch, Revision: e.Revision}) {
		return nil
	}
	last, dead := map[string]Event[T]{}, map[string]bool{}
	for _, early := range s.early {
		last[early.Key] = early
	}
	for key, early := range last {
		if early.Op != Put || !i.forgot(key, early.Revision) {
			continue
		}
		there, err := s.there(ctx, key)
		if err != nil {
			return err
		}
		if there || len(dead) == mostAsked {
			break
		}
		dead[key] = true
	}
	s.early = slices.DeleteFunc(s.early, func(early Event[T]) bool { return dead[early.Key] })

	return nil
}

// there asks for what is named and not known.
func (s *session[T]) there(ctx context.Context, key string) (bool, error) {
	_, err := s.informer.store.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if errors.Is(err, ErrUndecodable) {
		return true, nil
	}

	return err == nil, errors.Wrapf(err, "cannot ask for %q, which is not known", key)
}

// complete ends the snapshot: what is missing in it is gone, or held.
func (s *session[T]) complete(ctx context.Context, e Event[T]) error {
	i := s.informer
	if err := s.bury(ctx, e); err != nil {
		return err
	}
	replaced := i.begin(e, s.early, s.again)
	if replaced {
		i.logger().Info("The store is not the one it was: what is missing in it is held, not deleted", "store", i.store.Name(), "epoch", e.Epoch, "revision", e.Revision)
	}
	for _, early := range s.early {
		s.seen[early.Key] = struct{}{}
	}
	missing := i.missing(s.seen)
	if replaced { // before anybody is told of what there is instead, and may ask for what there was
		i.hold(missing)
	}
	for _, early := range s.early {
		s.apply(early, told)
	}
	s.early, s.synced, s.seen = nil, true, nil
	if !replaced {
		if err := s.confirm(ctx, missing); err != nil {
			return err
		}
	}
	i.reach(e.Revision)
	i.sync()

	return nil
}

// confirm asks for each key that is missing somewhere, and believes that.
func (s *session[T]) confirm(ctx context.Context, missing []string) error {
	i := s.informer
	var gone []string
	for _, key := range missing {
		obj, err := i.store.Get(ctx, key)
		switch {
		case errors.Is(err, ErrNotFound):
			gone = append(gone, key)
		case errors.Is(err, ErrUndecodable):
		case err != nil:
			return errors.Wrapf(err, "cannot ask for %q, which is missing", key)
		default:
			i.apply(Event[T]{Op: Put, Key: key, Revision: obj.GetMetadata().Revision, Object: obj}, found)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	// The answers count only if they were those of the store that is followed.
	state, err := i.store.State(ctx)
	if err != nil {
		return errors.Wrap(err, "cannot ask whether the store is the one it was")
	}
	if !i.same(state) {
		return ErrReplaced
	}
	if most := i.opts.MaxVanished; !state.Expires && most >= 0 && len(gone) > most {
		i.logger().Info("Too many objects vanished at once: they are held, not deleted", "store", i.store.Name(), "objects", len(gone), "most", most)
		i.hold(gone)

		return nil
	}
	for _, key := range gone {
		i.apply(Event[T]{Op: Delete, Key: key}, found)
	}

	return nil
}

// resync compares the copy with a list: for what vanished without an event, and
// for events that were lost.
func (s *session[T]) resync(ctx context.Context) error {
	i := s.informer
	if !s.synced {
		return nil
	}
	state, err := i.store.State(ctx)
	if err != nil {
		return errors.Wrap(err, "cannot ask whether the store is the one it was")
	}
	if !i.same(state) {
		return ErrReplaced
	}
	before, listed, asked := i.keys(), map[string]struct{}{}, 0
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
			if asked < mostAsked && i.forgot(m.Key, m.Revision) {
				asked++
				if there, err := s.there(ctx, m.Key); err != nil {
					return err
				} else if !there {
					continue
				}
			}
			i.apply(Event[T]{Op: Put, Key: m.Key, Revision: m.Revision, Object: obj}, found)
		}
	}
	var missing []string
	for _, key := range before {
		if _, ok := listed[key]; !ok {
			missing = append(missing, key)
		}
	}

	return s.confirm(ctx, missing)
}
