package controllerruntime

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/store"
	"github.com/moorage-dev/moorage/pkg/storecontroller"
)

// SetOwner marks an object in Kubernetes as made for the primary, which SyncHandler
// has read, and as made while the store was what it is. Only by that can a later
// pass tell that the store was made anew since, and that the primary was lost and
// not deleted: the function SetOwner does not know it. Marks that are right
// already are left as they are.
func (r *Runtime[T]) SetOwner(obj metav1.Object, primary T) {
	if c := r.running(); c != nil {
		c.SetOwner(obj, primary)

		return
	}
	marks().Set(obj, r.Owner(primary))
}

// Owner returns what marks an entity as made for the primary, as SetOwner does: put
// it into the Owners of its metadata. Before Run, as where a test calls SyncHandler by
// itself, the store is asked which one it is; if it does not answer within
// storecontroller.StateTimeout, the owner does not say of which store the primary is.
func (r *Runtime[T]) Owner(primary T) store.Owner {
	if c := r.running(); c != nil {
		return c.Owner(primary)
	}
	m := primary.GetMetadata()
	owner := store.Owner{Kind: r.kind, Key: m.Key, UID: m.UID, Revision: m.Revision}
	if absent(r.client) {
		return owner
	}
	ctx, cancel := context.WithTimeout(context.Background(), storecontroller.StateTimeout)
	defer cancel()
	if now, err := r.client.State(ctx); err == nil {
		owner.Epoch = now.Epoch
	}

	return owner
}

// marks are those of the older shape, whatever the default of package storecontroller is. What
// bears that default is read as well, and marked anew: a controller may have gone back.
func marks() storecontroller.Marks {
	return storecontroller.Marks{Prefix: storecontroller.FormerMarkPrefix, Former: storecontroller.DefaultMarkPrefix}
}

// SetOwner marks an object in Kubernetes with a primary of which nothing but kind and key is
// known. That of a runtime says more: of which store the primary is.
func SetOwner(obj metav1.Object, kind, key string) {
	marks().Set(obj, store.Owner{Kind: kind, Key: key})
}

// OwnerSelector selects what is marked with the primary of that kind and key, by whichever
// SetOwner of this package; with an empty key, what is marked with any of the kind.
func OwnerSelector(kind, key string) labels.Selector { return marks().Selector(kind, key) }

func (r *Runtime[T]) running() *storecontroller.Controller[T] {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.controller
}

// ownersOfEntities looks for owners of a kind in a copy of a store.
func ownersOfEntities[T IEntity](i *store.Informer[T], kind string) func(context.Context, string) ([]store.Owner, error) {
	index := storecontroller.OwnerIndex(kind)
	of := func(obj T, key string) (out []store.Owner) {
		m := obj.GetMetadata()
		if m == nil {
			return nil
		}
		for _, owner := range m.Owners {
			if owner.Kind == kind && owner.Key != "" && (key == "" || owner.Key == key) {
				out = append(out, owner)
			}
		}

		return out
	}
	i.AddIndex(index, func(obj T) (keys []string) {
		for _, owner := range of(obj, "") {
			keys = append(keys, owner.Key)
		}

		return keys
	})

	return func(_ context.Context, key string) (out []store.Owner, err error) {
		for _, obj := range i.ByIndex(index, key) {
			out = append(out, of(obj, key)...)
		}

		return out, nil
	}
}

// ownersOfObjects looks for owners of a kind in an informer, which may be shared
// with another runtime that looks for the same, or looked for it before.
func ownersOfObjects(i cache.SharedIndexInformer, kind string) (func(context.Context, string) ([]store.Owner, error), error) {
	index := "moorage.dev/owners-of-kind-" + kind
	err := i.AddIndexers(cache.Indexers{index: func(obj any) ([]string, error) {
		if owner, ok := ownerOf(obj); ok && owner.Kind == kind {
			return []string{owner.Key}, nil
		}

		return nil, nil
	}})
	if _, has := i.GetIndexer().GetIndexers()[index]; err != nil && !has {
		return nil, errors.Wrap(err, "cannot index an informer by owners")
	}

	return func(_ context.Context, key string) (out []store.Owner, err error) {
		found, err := i.GetIndexer().ByIndex(index, key)
		for _, obj := range found {
			if owner, ok := ownerOf(obj); ok {
				out = append(out, owner)
			}
		}

		return out, errors.Wrap(err, "cannot ask an informer")
	}, nil
}

// ownerOf returns the owner that stands on an object. A mark that is half says
// nothing.
func ownerOf(obj any) (store.Owner, bool) {
	object, err := storecontroller.Object(obj)
	if err != nil {
		return store.Owner{}, false
	}
	owner, err := marks().Owner(object)

	return owner, err == nil && owner.Key != ""
}
