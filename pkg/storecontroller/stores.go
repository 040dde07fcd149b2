package storecontroller

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
)

// Owns watches a store whose objects are made for the primaries of the controller.
// Each leads to those of its Owners that are of its kind. The informer is started
// with the controller; it may be shared with others.
func Owns[T store.Object](i *store.Informer[T]) Dependency { return ownsStore[T]{i} }

// Reads watches a store that the primaries need to know of. An object leads to the
// keys that the function returns, for what it was and for what it is; without a
// function, to none.
func Reads[T store.Object](i *store.Informer[T], keys func(context.Context, T) []string) Dependency {
	return readsStore[T]{i, keys}
}

// OwnerIndex is the name of the index in which Owns lets an informer find the
// objects of a primary by its key: informer.ByIndex(OwnerIndex("link"), key).
func OwnerIndex(kind string) string { return "owners of kind " + kind }

type ownsStore[T store.Object] struct{ informer *store.Informer[T] }

func (d ownsStore[T]) bind(_ context.Context, b binding) (bound, error) {
	index := OwnerIndex(b.kind)
	owners := func(obj T) (keys []string) {
		for _, owner := range obj.GetMetadata().Owners {
			keys = append(keys, b.mine(owner)...)
		}

		return keys
	}
	d.informer.AddIndex(index, owners)
	d.informer.SetDefaultLogger(b.logger)

	return bound{
		source:   newStoreSource(d.informer, false, func(_ context.Context, obj T) []string { return owners(obj) }),
		runnable: d.informer,
		owned:    storeOwned[T]{informer: d.informer, index: index, kind: b.kind},
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

// storeOwned finds secondaries in a copy of their store.
type storeOwned[T store.Object] struct {
	informer *store.Informer[T]
	index    string
	kind     string
}

func (o storeOwned[T]) ofOwner(_ context.Context, key string) (out []secondary, err error) {
	for _, obj := range o.informer.ByIndex(o.index, key) {
		out = append(out, o.secondaries(obj, key)...)
	}

	return out, nil
}

func (o storeOwned[T]) all(ctx context.Context) (out []secondary, err error) {
	if err := o.informer.WaitForSync(ctx); err != nil {
		return nil, err
	}
	for _, obj := range o.informer.List() {
		out = append(out, o.secondaries(obj, "")...)
	}

	return out, nil
}

// secondaries returns the object once for each owner. What several own is removed
// by none: the collector knows one owner at a time.
func (o storeOwned[T]) secondaries(obj T, key string) (out []secondary) {
	m := obj.GetMetadata()
	for _, owner := range m.Owners {
		if owner.Kind != o.kind || key != "" && owner.Key != key {
			continue
		}
		s := secondary{owner: owner, id: o.informer.Store().Name() + "/" + m.Key + "/" + m.UID, going: m.DeletionTimestamp != nil}
		if len(m.Owners) == 1 {
			s.remove = func(ctx context.Context) error {
				err := o.informer.Store().Delete(ctx, m.Key, store.IfUID(m.UID), store.IfRevision(m.Revision))
				if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
					return nil // it is not what was seen any more: the next pass looks again
				}

				return err
			}
		}
		out = append(out, s)
	}

	return out
}
