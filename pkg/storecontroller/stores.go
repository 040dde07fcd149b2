package storecontroller

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// Owns watches objects in a store whose Metadata.Owners name primaries of the controller. The controller starts the
// informer, which other controllers may share.
func Owns[T store.Object](i *store.Informer[T]) Dependency { return ownsStore[T]{i} }

// Reads watches objects in a store that the primaries depend on. The function maps an object to the keys of primaries.
// The controller calls it with the old and the new state of an object. With a nil function no key is enqueued.
func Reads[T store.Object](i *store.Informer[T], keys func(context.Context, T) []string) Dependency {
	return readsStore[T]{i, keys}
}

// OwnerIndex returns the name of the index that Owns adds to an informer. It finds the secondaries of a primary by
// its key: informer.ByIndex(OwnerIndex("link"), key).
func OwnerIndex(kind string) string { return "owners of kind " + kind }

type ownsStore[T store.Object] struct{ informer *store.Informer[T] }

func (d ownsStore[T]) bind(_ context.Context, b binding) (bound, error) {
	index := OwnerIndex(b.kind)
	owners := func(obj T) (keys []string) {
		for _, owner := range obj.GetMetadata().Owners {
			keys = append(keys, b.primaryKeys(owner)...)
		}

		return keys
	}
	d.informer.AddIndex(index, owners)
	d.informer.SetDefaultLogger(b.logger)

	return bound{
		source:   newStoreSource(d.informer, false, func(_ context.Context, obj T) []string { return owners(obj) }),
		runnable: d.informer,
		owned:    storeLister[T]{informer: d.informer, index: index, kind: b.kind},
	}, nil
}

type readsStore[T store.Object] struct {
	informer *store.Informer[T]
	keys     func(context.Context, T) []string
}

func (d readsStore[T]) bind(_ context.Context, b binding) (bound, error) {
	d.informer.SetDefaultLogger(b.logger)
	keys := d.keys
	if keys == nil {
		keys = func(context.Context, T) []string { return nil }
	}

	return bound{source: newStoreSource(d.informer, false, keys), runnable: d.informer}, nil
}

// A storeLister lists secondaries from the informer of their store.
type storeLister[T store.Object] struct {
	informer *store.Informer[T]
	index    string
	kind     string
}

func (o storeLister[T]) listByOwner(_ context.Context, key string) (out []secondary, err error) {
	for _, obj := range o.informer.ByIndex(o.index, key) {
		out = append(out, o.secondaries(obj, key)...)
	}

	return out, nil
}

func (o storeLister[T]) listAll(ctx context.Context) (out []secondary, err error) {
	if err := o.informer.WaitForSync(ctx); err != nil {
		return nil, err
	}
	for _, obj := range o.informer.List() {
		out = append(out, o.secondaries(obj, "")...)
	}

	return out, nil
}

// secondaries returns the object once for each of its owners. An object with several owners has no remove function,
// because the controller knows only one of the owners.
func (o storeLister[T]) secondaries(obj T, key string) (out []secondary) {
	m := obj.GetMetadata()
	for _, owner := range m.Owners {
		if owner.Kind != o.kind || key != "" && owner.Key != key {
			continue
		}
		s := secondary{owner: owner, id: o.informer.Store().Name() + "/" + m.Key + "/" + m.UID,
			deleting: m.DeletionTimestamp != nil}
		if len(m.Owners) == 1 {
			s.remove = func(ctx context.Context) error {
				err := o.informer.Store().Delete(ctx, m.Key, store.IfUID(m.UID), store.IfRevision(m.Revision))
				if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
					return nil // the object has changed since it was observed: the next pass reads it again
				}

				return err
			}
		}
		out = append(out, s)
	}

	return out
}
