// Package hook has the interfaces of the hooks of vcluster-sdk v0.4, so that a plugin with hooks compiles and the tests
// of its hooks run. Start with ClientHook.
//
// Nothing in this library calls a hook, and package plugin refuses to register one. In a plugin of vcluster-sdk,
// vcluster proxied the requests to both API servers, and hooks changed the objects in these requests. Here no request
// goes through a proxy. Replace a hook for host objects by code in a syncer's TranslateMetadata, SyncDown and Sync.
// Replace a hook for requests of tenants by a mutating admission webhook of the virtual cluster.
package hook

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A ClientHook changes objects of one kind in requests. It also implements at least one of the other interfaces of this
// package, which determine the requests.
type ClientHook interface {
	// Name of the hook.
	Name() string

	// Resource returns an empty object of the kind.
	Resource() client.Object
}

// A MutateCreateVirtual changes objects that are created in the virtual cluster.
type MutateCreateVirtual interface {
	// MutateCreateVirtual returns the object that is created, or why it is not.
	MutateCreateVirtual(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateUpdateVirtual changes objects that are updated or patched in the virtual cluster.
type MutateUpdateVirtual interface {
	// MutateUpdateVirtual returns the object as it is stored, or why it is not.
	MutateUpdateVirtual(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateDeleteVirtual receives objects that are deleted in the virtual cluster.
type MutateDeleteVirtual interface {
	// MutateDeleteVirtual returns the object that is deleted, or why it is not.
	MutateDeleteVirtual(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateGetVirtual changes objects that are read in the virtual cluster.
type MutateGetVirtual interface {
	// MutateGetVirtual returns the object that is shown, or why none is.
	MutateGetVirtual(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateCreatePhysical changes objects that are created on the host.
type MutateCreatePhysical interface {
	// MutateCreatePhysical returns the object that is created, or why it is not.
	MutateCreatePhysical(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateUpdatePhysical changes objects that are updated or patched on the host.
type MutateUpdatePhysical interface {
	// MutateUpdatePhysical returns the object as it is stored, or why it is not.
	MutateUpdatePhysical(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateDeletePhysical receives objects that are deleted on the host.
type MutateDeletePhysical interface {
	// MutateDeletePhysical returns the object that is deleted, or why it is not.
	MutateDeletePhysical(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateGetPhysical changes objects that are read on the host.
type MutateGetPhysical interface {
	// MutateGetPhysical returns the object that is shown, or why none is.
	MutateGetPhysical(ctx context.Context, obj client.Object) (client.Object, error)
}
