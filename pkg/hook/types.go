// Package hook has the interfaces of the hooks of vcluster-sdk v0.4, so that a plugin with hooks
// compiles and the tests of its hooks run. Start with ClientHook.
//
// Nothing in this library calls a hook. In a plugin, vcluster proxied the requests to both API servers and let hooks
// change the objects in them; here no request goes through a proxy. What a hook did to host objects is done in a
// syncer's TranslateMetadata, SyncDown and Sync; what it did to requests of tenants, in a mutating admission webhook
// of the virtual cluster. Package plugin refuses to register a hook.
package hook

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A ClientHook changes objects of one kind in requests. Which requests, it says by the other
// interfaces of this package.
type ClientHook interface {
	// Name of the hook.
	Name() string

	// Resource returns an empty object of the kind.
	Resource() client.Object
}

// A MutateCreateVirtual changes what is created in the virtual cluster.
type MutateCreateVirtual interface {
	// MutateCreateVirtual returns the object that is created, or why it is not.
	MutateCreateVirtual(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateUpdateVirtual changes what is updated or patched in the virtual cluster.
type MutateUpdateVirtual interface {
	// MutateUpdateVirtual returns the object as it is stored, or why it is not.
	MutateUpdateVirtual(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateDeleteVirtual sees what is deleted in the virtual cluster.
type MutateDeleteVirtual interface {
	// MutateDeleteVirtual returns the object that is deleted, or why it is not.
	MutateDeleteVirtual(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateGetVirtual changes what is read in the virtual cluster.
type MutateGetVirtual interface {
	// MutateGetVirtual returns the object that is shown, or why none is.
	MutateGetVirtual(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateCreatePhysical changes what is created on the host.
type MutateCreatePhysical interface {
	// MutateCreatePhysical returns the object that is created, or why it is not.
	MutateCreatePhysical(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateUpdatePhysical changes what is updated or patched on the host.
type MutateUpdatePhysical interface {
	// MutateUpdatePhysical returns the object as it is stored, or why it is not.
	MutateUpdatePhysical(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateDeletePhysical sees what is deleted on the host.
type MutateDeletePhysical interface {
	// MutateDeletePhysical returns the object that is deleted, or why it is not.
	MutateDeletePhysical(ctx context.Context, obj client.Object) (client.Object, error)
}

// A MutateGetPhysical changes what is read on the host.
type MutateGetPhysical interface {
	// MutateGetPhysical returns the object that is shown, or why none is.
	MutateGetPhysical(ctx context.Context, obj client.Object) (client.Object, error)
}
