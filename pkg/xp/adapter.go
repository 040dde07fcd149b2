package xp

import (
	"context"
	"maps"
	"slices"

	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// Adapt makes a connecter of Moorage from a connecter of crossplane-runtime. The result may be used concurrently if c
// may.
//
// Connection details that Create returns are published before the client is called again, see
// managed.TellConnectionDetails. Connection details that Update returns are added to the next observation of the same
// pass. If that observation fails or finds no resource, details that only Update has returned are lost.
func Adapt[T resource.Managed](c TypedExternalConnecter[T]) managed.TypedExternalConnector[T] {
	return managed.TypedExternalConnectorFn[T](func(ctx context.Context, mg T) (managed.TypedExternalClient[T], error) {
		client, err := c.Connect(ctx, mg)
		if err != nil {
			return nil, err
		}

		return &adapter[T]{client: client}, nil
	})
}

// WithExternalConnecter sets the connecter of crossplane-runtime that makes the clients. It calls
// managed.WithExternalConnecter with the result of [Adapt].
func WithExternalConnecter(c ExternalConnecter) managed.ReconcilerOption {
	return managed.WithExternalConnecter(Adapt(c))
}

// WithExternalConnector is another name of WithExternalConnecter. crossplane-runtime has both names.
func WithExternalConnector(c ExternalConnecter) managed.ReconcilerOption {
	return WithExternalConnecter(c)
}

// WithTypedExternalConnector does the same as WithExternalConnecter, for a connecter of one Go type of managed
// resource.
func WithTypedExternalConnector[T resource.Managed](c TypedExternalConnecter[T]) managed.ReconcilerOption {
	return managed.WithTypedExternalConnector(Adapt(c))
}

// An adapter is a client of Moorage that calls a client of crossplane-runtime. There is one for each pass.
type adapter[T resource.Managed] struct {
	client  TypedExternalClient[T]
	written managed.ConnectionDetails // returned by Create and Update
}

// Unwrap returns the client, which may implement optional interfaces.
func (a *adapter[T]) Unwrap() any { return a.client }

// Observe adds to the observation the connection details that Create and Update returned.
func (a *adapter[T]) Observe(ctx context.Context, mg T) (managed.ExternalObservation, error) {
	o, err := a.client.Observe(ctx, mg)
	if err != nil || len(a.written) == 0 || !o.ResourceExists {
		return o, err
	}

	details := managed.ConnectionDetails{}
	maps.Copy(details, o.ConnectionDetails)
	maps.Copy(details, a.written)
	o.ConnectionDetails = details

	return o, nil
}

// Create publishes the connection details that the client returns, and keeps them for Observe.
func (a *adapter[T]) Create(ctx context.Context, mg T) error {
	c, err := a.client.Create(ctx, mg)
	managed.TellConnectionDetails(ctx, c.ConnectionDetails)
	a.keep(ctx, c.ConnectionDetails, c.AdditionalDetails)

	return err
}

// Update keeps the connection details that the client returns, for Observe.
func (a *adapter[T]) Update(ctx context.Context, mg T) error {
	u, err := a.client.Update(ctx, mg)
	a.keep(ctx, u.ConnectionDetails, u.AdditionalDetails)

	return err
}

// Delete adds to the change log the details that the client returns.
func (a *adapter[T]) Delete(ctx context.Context, mg T) error {
	d, err := a.client.Delete(ctx, mg)
	a.keep(ctx, nil, d.AdditionalDetails)

	return err
}

// Disconnect calls Disconnect of the client.
func (a *adapter[T]) Disconnect(ctx context.Context) error { return a.client.Disconnect(ctx) }

// keep stores connection details, and adds other details to the change log.
func (a *adapter[T]) keep(ctx context.Context, details managed.ConnectionDetails, additional AdditionalDetails) {
	if len(details) > 0 {
		if a.written == nil {
			a.written = managed.ConnectionDetails{}
		}

		maps.Copy(a.written, details)
	}

	for _, key := range slices.Sorted(maps.Keys(additional)) {
		changelog.Detail(ctx, key, additional[key])
	}
}
