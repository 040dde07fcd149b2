package storecontroller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/store"
)

// A Dependency is something that a controller watches beside its primaries. Those
// there are made by Owns, Reads, OwnsKube, ReadsKube, OwnsInformer, External and
// Evidence; DeleteWithPrimary changes one.
type Dependency interface {
	bind(ctx context.Context, b binding) (bound, error)
}

// A binding is what a dependency learns of its controller.
type binding struct {
	name  string // of the controller
	kind  string // of its primaries
	marks Marks
	kube  client.Client // may be nil

	logger logging.Logger
}

// mine returns the key of an owner that is a primary of the controller.
func (b binding) mine(owner store.Owner) []string {
	if owner.Kind != b.kind || owner.Key == "" {
		return nil
	}

	return []string{owner.Key}
}

// A bound dependency is one of a controller.
type bound struct {
	source   source.TypedSource[Request] // nil if nothing is watched
	runnable manager.Runnable            // what has to run for it; may be nil
	owned    owned                       // nil unless it is owned
	deleted  bool                        // what is owned goes with its primary
}

// owned are the secondaries of one kind.
type owned interface {
	// ofOwner returns those marked with a primary, as far as is known.
	ofOwner(ctx context.Context, key string) ([]secondary, error)

	// all returns those of all primaries of the kind.
	all(ctx context.Context) ([]secondary, error)
}

// A secondary is an object that was made for a primary.
type secondary struct {
	owner store.Owner
	id    string // what it is and which, for people and to tell it from others
	going bool   // it is being deleted
	// remove deletes it as it was seen, and nothing else of its name. It is nil if
	// nobody can.
	remove func(ctx context.Context) error
}

// External watches something that is neither in Kubernetes nor in a store, such as
// a webhook, a subject or a poll: any source of keys. A Pusher is one.
func External(_ string, s source.TypedSource[Request]) Dependency { return external{s} }

type external struct{ source source.TypedSource[Request] }

func (e external) bind(context.Context, binding) (bound, error) { return bound{source: e.source}, nil }

// Evidence lets a controller ask what else was made for a primary that is missing,
// where that is not its to watch or to collect: the function returns what stands on
// it of its owners. If one of them was in another store than the one there is now,
// the primary counts as lost and not as deleted. An error is tried again.
func Evidence(ofOwner func(ctx context.Context, key string) ([]store.Owner, error)) Dependency {
	return evidence(ofOwner)
}

type evidence func(ctx context.Context, key string) ([]store.Owner, error)

func (e evidence) bind(context.Context, binding) (bound, error) { return bound{owned: e}, nil }

func (e evidence) ofOwner(ctx context.Context, key string) (out []secondary, err error) {
	owners, err := e(ctx, key)
	for _, owner := range owners {
		out = append(out, secondary{owner: owner})
	}

	return out, err
}

// all returns nothing: the collector has nothing to do with it.
func (e evidence) all(context.Context) ([]secondary, error) { return nil, nil }
