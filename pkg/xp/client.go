package xp

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An ExternalClient is an external client with the methods of crossplane-runtime.
type ExternalClient = TypedExternalClient[resource.Managed]

// A TypedExternalClient is an ExternalClient for one Go type of managed resource. The rules in the documentation of
// managed.TypedExternalClient apply to the methods with the same names.
type TypedExternalClient[T resource.Managed] interface {
	// Observe returns whether the external resource exists, and whether it is as desired.
	Observe(ctx context.Context, mg T) (managed.ExternalObservation, error)

	// Create creates the external resource.
	Create(ctx context.Context, mg T) (ExternalCreation, error)

	// Update changes the external resource to the desired state.
	Update(ctx context.Context, mg T) (ExternalUpdate, error)

	// Delete requests the deletion of the external resource.
	Delete(ctx context.Context, mg T) (ExternalDelete, error)

	// Disconnect is called once at the end of each pass in which Connect succeeded.
	Disconnect(ctx context.Context) error
}

// An ExternalCreation is the result of Create.
type ExternalCreation struct {
	// ConnectionDetails are published before the client is called again. They win over the details of the observation that
	// follows. See [Adapt].
	ConnectionDetails managed.ConnectionDetails

	// AdditionalDetails are added to the entry of the change log.
	AdditionalDetails AdditionalDetails
}

// An ExternalUpdate is the result of Update.
type ExternalUpdate struct {
	// ConnectionDetails are published with the details of the observation that follows. They win over the details of that
	// observation. See [Adapt].
	ConnectionDetails managed.ConnectionDetails

	// AdditionalDetails are added to the entry of the change log.
	AdditionalDetails AdditionalDetails
}

// An ExternalDelete is the result of Delete.
type ExternalDelete struct {
	// AdditionalDetails are added to the entry of the change log.
	AdditionalDetails AdditionalDetails
}

// AdditionalDetails are additional details of an entry of the change log.
type AdditionalDetails map[string]string

// An ExternalConnecter produces an ExternalClient.
type ExternalConnecter = TypedExternalConnecter[resource.Managed]

// An ExternalConnector is another name of ExternalConnecter. crossplane-runtime has both names.
type ExternalConnector = ExternalConnecter

// A TypedExternalConnecter produces a TypedExternalClient. The rules in the documentation of
// managed.TypedExternalConnector apply to Connect.
type TypedExternalConnecter[T resource.Managed] interface {
	Connect(ctx context.Context, mg T) (TypedExternalClient[T], error)
}

// A TypedExternalConnector is another name of TypedExternalConnecter. crossplane-runtime has both names.
type TypedExternalConnector[T resource.Managed] = TypedExternalConnecter[T]

// An ExternalConnectorFn is a function that is an ExternalConnecter.
type ExternalConnectorFn = TypedExternalConnectorFn[resource.Managed]

// A TypedExternalConnectorFn is a function that is a TypedExternalConnecter.
type TypedExternalConnectorFn[T resource.Managed] func(ctx context.Context, mg T) (TypedExternalClient[T], error)

// Connect calls the function.
func (fn TypedExternalConnectorFn[T]) Connect(ctx context.Context, mg T) (TypedExternalClient[T], error) {
	return fn(ctx, mg)
}

// ExternalClientFns is an ExternalClient made of functions, for tests.
type ExternalClientFns = TypedExternalClientFns[resource.Managed]

// TypedExternalClientFns is a TypedExternalClient made of functions, for tests. Calling a method whose function is
// nil panics. The exception is Disconnect, which then does nothing.
type TypedExternalClientFns[T resource.Managed] struct {
	ObserveFn    func(ctx context.Context, mg T) (managed.ExternalObservation, error)
	CreateFn     func(ctx context.Context, mg T) (ExternalCreation, error)
	UpdateFn     func(ctx context.Context, mg T) (ExternalUpdate, error)
	DeleteFn     func(ctx context.Context, mg T) (ExternalDelete, error)
	DisconnectFn func(ctx context.Context) error
}

// Observe calls ObserveFn.
func (e TypedExternalClientFns[T]) Observe(ctx context.Context, mg T) (managed.ExternalObservation, error) {
	return e.ObserveFn(ctx, mg)
}

// Create calls CreateFn.
func (e TypedExternalClientFns[T]) Create(ctx context.Context, mg T) (ExternalCreation, error) {
	return e.CreateFn(ctx, mg)
}

// Update calls UpdateFn.
func (e TypedExternalClientFns[T]) Update(ctx context.Context, mg T) (ExternalUpdate, error) {
	return e.UpdateFn(ctx, mg)
}

// Delete calls DeleteFn.
func (e TypedExternalClientFns[T]) Delete(ctx context.Context, mg T) (ExternalDelete, error) {
	return e.DeleteFn(ctx, mg)
}

// Disconnect calls DisconnectFn.
func (e TypedExternalClientFns[T]) Disconnect(ctx context.Context) error {
	if e.DisconnectFn == nil {
		return nil
	}

	return e.DisconnectFn(ctx)
}
