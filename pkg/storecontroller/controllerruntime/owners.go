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

// SetOwner marks an object in Kubernetes as a secondary of the primary that SyncHandler has read. The marks include the
// epoch of the store. If the store is created again, only the epoch distinguishes a lost primary from a deleted one.
// The package function SetOwner does not write the epoch. Marks that are still valid are not changed.
func (r *Runtime[T]) SetOwner(obj metav1.Object, primary T) {
	if c := r.running(); c != nil {
		c.SetOwner(obj, primary)

		return
	}
	marks().Set(obj, r.Owner(primary))
}

// Owner returns the reference that marks an entity as a secondary of the primary. Add it to Metadata.Owners of the
// entity. Before Run, for instance in a unit test of SyncHandler, Owner reads the epoch from the store. If the store
// does not respond within storecontroller.StateTimeout, the reference has no epoch.
func (r *Runtime[T]) Owner(primary T) store.Owner {
	if c := r.running(); c != nil {
		return c.Owner(primary)
	}
	m := primary.GetMetadata()
	owner := store.Owner{Kind: r.kind, Key: m.Key, UID: m.UID, Revision: m.Revision}
	if isNil(r.client) {
		return owner
	}
	ctx, cancel := context.WithTimeout(context.Background(), storecontroller.StateTimeout)
	defer cancel()
	if now, err := r.client.State(ctx); err == nil {
		owner.Epoch = now.Epoch
	}

	return owner
}

// marks returns the labels and annotations of the older library. The runtime also reads the default marks of package
// storecontroller, and SetOwner replaces them with these. Such objects exist if a controller was changed back to this
// package.
func marks() storecontroller.Marks {
	return storecontroller.Marks{Prefix: storecontroller.FormerMarkPrefix, Former: storecontroller.DefaultMarkPrefix}
}

// SetOwner marks an object in Kubernetes with the kind and the key of a primary. These marks have no epoch; the marks
// of Runtime.SetOwner do.
func SetOwner(obj metav1.Object, kind, key string) {
	marks().Set(obj, store.Owner{Kind: kind, Key: key})
}

// OwnerSelector returns a selector for the objects that SetOwner or Runtime.SetOwner has marked with the primary. With
// an empty key the selector matches the objects of all primaries of the kind.
func OwnerSelector(kind, key string) labels.Selector { return marks().Selector(kind, key) }

// running returns the controller, or nil before Run.
func (r *Runtime[T]) running() *storecontroller.Controller[T] {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.controller
}

// An ownersFunc returns the owner references of the secondaries of a primary.
type ownersFunc = func(ctx context.Context, key string) ([]store.Owner, error)

// ownersOfEntities adds an index to the informer, and returns the owner references to a key from it.
func ownersOfEntities[T IEntity](i *store.Informer[T], kind string) ownersFunc {
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

// ownersOfObjects adds an index to the informer, and returns the owner references to a key from it. Another runtime
// may already have added the index.
func ownersOfObjects(i cache.SharedIndexInformer, kind string) (ownersFunc, error) {
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

		return out, errors.Wrap(err, "cannot list from an informer")
	}, nil
}

// ownerOf returns the owner that the marks of an object name. Incomplete marks count as none.
func ownerOf(obj any) (store.Owner, bool) {
	object, err := storecontroller.Object(obj)
	if err != nil {
		return store.Owner{}, false
	}
	owner, err := marks().Owner(object)

	return owner, err == nil && owner.Key != ""
}
