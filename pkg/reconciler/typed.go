package reconciler

import (
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The contract with an author, for one type of managed resource instead of all.
type (
	// A TypedExternalClient is an ExternalClient for managed resources of one type.
	TypedExternalClient[T resource.Managed] = managed.TypedExternalClient[T]

	// TypedExternalClientFns are a TypedExternalClient made of functions.
	TypedExternalClientFns[T resource.Managed] = managed.TypedExternalClientFns[T]

	// A TypedExternalLister is a TypedExternalClient that can list what exists.
	TypedExternalLister[T resource.Managed] = managed.TypedExternalLister[T]

	// A TypedExternalConnector produces a TypedExternalClient for a managed
	// resource.
	TypedExternalConnector[T resource.Managed] = managed.TypedExternalConnector[T]

	// A TypedExternalConnectorFn is a TypedExternalConnector made of a function.
	TypedExternalConnectorFn[T resource.Managed] = managed.TypedExternalConnectorFn[T]

	// A TypedExternalConnectDisconnector connects and disconnects.
	TypedExternalConnectDisconnector[T resource.Managed] = managed.TypedExternalConnectDisconnector[T]

	// TypedExternalConnectDisconnectorFns are a TypedExternalConnectDisconnector
	// made of functions.
	TypedExternalConnectDisconnectorFns[T resource.Managed] = managed.TypedExternalConnectDisconnectorFns[T]
)

// Untyped is [managed.Untyped].
func Untyped[T resource.Managed](c TypedExternalConnector[T]) ExternalConnecter {
	return managed.Untyped(c)
}

// WithTypedExternalConnector is [managed.WithTypedExternalConnector].
func WithTypedExternalConnector[T resource.Managed](c TypedExternalConnector[T]) ReconcilerOption {
	return managed.WithTypedExternalConnector(c)
}
