package reconciler

import (
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/reference"
)

// What can be done with an object before its external resource is looked at.
type (
	// An Initializer prepares an object.
	Initializer = managed.Initializer

	// An InitializerFn is an Initializer made of a function.
	InitializerFn = managed.InitializerFn

	// An InitializerChain is several Initializers, one after the other.
	InitializerChain = managed.InitializerChain

	// NameAsExternalName is an Initializer that takes the object's name for the
	// external one.
	NameAsExternalName = managed.NameAsExternalName

	// A Referencer is an object that takes values from others.
	Referencer = managed.Referencer

	// A ReferenceResolver sees to it that an object has the values which it takes
	// from others.
	ReferenceResolver = managed.ReferenceResolver

	// A ReferenceResolverFn is a ReferenceResolver made of a function.
	ReferenceResolverFn = managed.ReferenceResolverFn
)

// WithInitializers is [managed.WithInitializers].
func WithInitializers(i ...Initializer) ReconcilerOption { return managed.WithInitializers(i...) }

// WithReferenceResolver is [managed.WithReferenceResolver].
func WithReferenceResolver(rr ReferenceResolver) ReconcilerOption {
	return managed.WithReferenceResolver(rr)
}

// WithReferenceGraph is [managed.WithReferenceGraph].
func WithReferenceGraph(g *reference.Graph) ReconcilerOption { return managed.WithReferenceGraph(g) }

// WithSupportedManagementPolicies is [managed.WithSupportedManagementPolicies].
func WithSupportedManagementPolicies(sets ...commonv1.ManagementPolicies) ReconcilerOption {
	return managed.WithSupportedManagementPolicies(sets...)
}

// How others learn how to use an external resource.
type (
	// ConnectionDetails are what is needed to use an external resource.
	ConnectionDetails = managed.ConnectionDetails

	// A ConnectionPublisher hands connection details on.
	ConnectionPublisher = managed.ConnectionPublisher

	// A ConnectionPublisherFn is a ConnectionPublisher made of a function.
	ConnectionPublisherFn = managed.ConnectionPublisherFn
)

// WithConnectionPublisher is [managed.WithConnectionPublisher].
func WithConnectionPublisher(c ConnectionPublisher) ReconcilerOption {
	return managed.WithConnectionPublisher(c)
}
