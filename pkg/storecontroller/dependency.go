package storecontroller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/store"
)

// A Dependency is something that a controller watches in addition to its primaries. Owns, Reads, OwnsKube,
// ReadsKube, OwnsInformer, External and Evidence create one; DeleteWithPrimary modifies one.
type Dependency interface {
	bind(ctx context.Context, b binding) (bound, error)
}

// A binding holds what a dependency needs of its controller.
type binding struct {
	name  string // of the controller
	kind  string // of its primaries
	marks Marks
	kube  client.Client // may be nil

	logger logging.Logger
}

// primaryKeys returns the key of an owner if the owner is a primary of the controller.
func (b binding) primaryKeys(owner store.Owner) []string {
	if owner.Kind != b.kind || owner.Key == "" {
		return nil
	}

	return []string{owner.Key}
}

// A bound is a dependency that is attached to a controller.
type bound struct {
	source    source.TypedSource[Request] // nil if nothing is watched
	runnable  manager.Runnable            // started with the controller; may be nil
	owned     secondaryLister             // nil unless the dependency is owned
	deletable bool                        // secondaries are deleted with their primary
}

// A secondaryLister lists the secondaries of one dependency.
type secondaryLister interface {
	// listByOwner returns the secondaries that are marked with the primary of that key, from the cache.
	listByOwner(ctx context.Context, key string) ([]secondary, error)

	// listAll returns the secondaries of all primaries of the kind. It returns no partial list before the cache has
	// synced.
	listAll(ctx context.Context) ([]secondary, error)
}

// A secondary is an object that was created for a primary.
type secondary struct {
	owner    store.Owner
	id       string // kind, key and UID: unique, and readable in logs and events
	deleting bool   // has a deletion timestamp
	// remove deletes the object only if it still has the observed UID and revision. It is nil if the controller cannot
	// delete the object.
	remove func(ctx context.Context) error
}

// External watches a source of keys that is neither Kubernetes nor a store, such as a webhook, a subscription or a
// poll. A Pusher is such a source.
func External(_ string, s source.TypedSource[Request]) Dependency { return external{s} }

type external struct{ source source.TypedSource[Request] }

func (e external) bind(context.Context, binding) (bound, error) { return bound{source: e.source}, nil }

// Evidence adds owner references to the check of a missing primary. It is for objects that the controller neither
// watches nor deletes. The function returns the owners of all these objects for the key of the primary. If one of the
// owners was in another store, the primary counts as lost and not as deleted. An error is retried.
func Evidence(owners func(ctx context.Context, key string) ([]store.Owner, error)) Dependency {
	return evidence(owners)
}

type evidence func(ctx context.Context, key string) ([]store.Owner, error)

func (e evidence) bind(context.Context, binding) (bound, error) { return bound{owned: e}, nil }

func (e evidence) listByOwner(ctx context.Context, key string) (out []secondary, err error) {
	owners, err := e(ctx, key)
	for _, owner := range owners {
		out = append(out, secondary{owner: owner})
	}

	return out, err
}

// listAll returns nothing, because the controller does not delete these objects.
func (e evidence) listAll(context.Context) ([]secondary, error) { return nil, nil }
