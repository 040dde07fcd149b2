package managed

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// ExternalClientFns is an ExternalClient made of functions, for tests. Calling
// a method whose function is nil panics.
type ExternalClientFns = TypedExternalClientFns[resource.Managed]

// TypedExternalClientFns is a TypedExternalClient made of functions, for tests.
// Calling a method whose function is nil panics.
type TypedExternalClientFns[T resource.Managed] struct {
	ObserveFn func(ctx context.Context, mg T) (ExternalObservation, error)
	CreateFn  func(ctx context.Context, mg T) error
	UpdateFn  func(ctx context.Context, mg T) error
	DeleteFn  func(ctx context.Context, mg T) error
}

// Observe calls ObserveFn.
func (e TypedExternalClientFns[T]) Observe(ctx context.Context, mg T) (ExternalObservation, error) {
	return e.ObserveFn(ctx, mg)
}

// Create calls CreateFn.
func (e TypedExternalClientFns[T]) Create(ctx context.Context, mg T) error {
	return e.CreateFn(ctx, mg)
}

// Update calls UpdateFn.
func (e TypedExternalClientFns[T]) Update(ctx context.Context, mg T) error {
	return e.UpdateFn(ctx, mg)
}

// Delete calls DeleteFn.
func (e TypedExternalClientFns[T]) Delete(ctx context.Context, mg T) error {
	return e.DeleteFn(ctx, mg)
}

// An ExternalConnectorFn is a function that is an ExternalConnecter.
type ExternalConnectorFn = TypedExternalConnectorFn[resource.Managed]

// A TypedExternalConnectorFn is a function that is a TypedExternalConnector.
type TypedExternalConnectorFn[T resource.Managed] func(ctx context.Context, mg T) (TypedExternalClient[T], error)

// Connect calls the function.
func (fn TypedExternalConnectorFn[T]) Connect(ctx context.Context, mg T) (TypedExternalClient[T], error) {
	return fn(ctx, mg)
}

// An ExternalDisconnectorFn is a function that is an ExternalDisconnecter.
type ExternalDisconnectorFn func(ctx context.Context) error

// Disconnect calls the function.
func (fn ExternalDisconnectorFn) Disconnect(ctx context.Context) error { return fn(ctx) }

// ExternalConnectDisconnecterFns is an ExternalConnectDisconnecter made of
// functions, for tests. Calling a method whose function is nil panics.
type ExternalConnectDisconnecterFns = TypedExternalConnectDisconnectorFns[resource.Managed]

// TypedExternalConnectDisconnectorFns is a TypedExternalConnectDisconnector made
// of functions, for tests. Calling a method whose function is nil panics.
type TypedExternalConnectDisconnectorFns[T resource.Managed] struct {
	ConnectFn    func(ctx context.Context, mg T) (TypedExternalClient[T], error)
	DisconnectFn func(ctx context.Context) error
}

// Connect calls ConnectFn.
func (fns TypedExternalConnectDisconnectorFns[T]) Connect(ctx context.Context, mg T) (TypedExternalClient[T], error) {
	return fns.ConnectFn(ctx, mg)
}

// Disconnect calls DisconnectFn.
func (fns TypedExternalConnectDisconnectorFns[T]) Disconnect(ctx context.Context) error {
	return fns.DisconnectFn(ctx)
}

// A NopDisconnecter adds a Disconnect that does nothing to an ExternalConnecter. Make one with NewNopDisconnecter.
// Connect of the zero value panics.
type NopDisconnecter struct {
	c ExternalConnecter
}

// NewNopDisconnecter returns c with a Disconnect that does nothing.
func NewNopDisconnecter(c ExternalConnecter) ExternalConnectDisconnecter {
	return &NopDisconnecter{c: c}
}

// Connect calls Connect of the wrapped connecter.
func (c *NopDisconnecter) Connect(ctx context.Context, mg resource.Managed) (ExternalClient, error) {
	return c.c.Connect(ctx, mg)
}

// Disconnect does nothing and returns nil.
func (c *NopDisconnecter) Disconnect(_ context.Context) error { return nil }

// A NopConnecter connects to nothing.
type NopConnecter struct{}

// Connect returns a NopClient and no error.
func (c *NopConnecter) Connect(_ context.Context, _ resource.Managed) (ExternalClient, error) {
	return &NopClient{}, nil
}

// A NopClient manages nothing: Observe reports that nothing exists, and all other calls succeed.
type NopClient struct{}

// Observe returns an observation of a resource that does not exist.
func (c *NopClient) Observe(_ context.Context, _ resource.Managed) (ExternalObservation, error) {
	return ExternalObservation{}, nil
}

// Create does nothing.
func (c *NopClient) Create(_ context.Context, _ resource.Managed) error { return nil }

// Update does nothing.
func (c *NopClient) Update(_ context.Context, _ resource.Managed) error { return nil }

// Delete does nothing.
func (c *NopClient) Delete(_ context.Context, _ resource.Managed) error { return nil }
