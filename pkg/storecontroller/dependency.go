package storecontroller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/store"
)

// A Dependency is something that a controller watches beside its primaries. Those
// there are made by Owns, Reads, OwnsKube, ReadsKube, OwnsInformer and External.
type Dependency interface {
	bind(ctx context.Context, b binding) (bound, error)
}

// A binding is what a dependency learns of its controller.
type binding struct {
	name  string // of the controller
	kind  string // of its primaries
	marks Marks
	kube  client.Client // may be nil
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
	source   source.TypedSource[Request]
	runnable manager.Runnable // what has to run for it; may be nil
	owned    owned            // nil unless it is owned
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
