package trials

import (
	"context"
	"slices"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A wrapped client calls the functions of its author around each call.
type wrapped struct {
	managed.ExternalClient

	call func(name string, mg *volume.Volume, inner func() error) error
}

// Unwrap returns the client of the cloud.
func (c wrapped) Unwrap() any { return c.ExternalClient }

// Observe observes.
func (c wrapped) Observe(ctx context.Context, mg resource.Managed) (o managed.ExternalObservation, err error) {
	err = c.through("Observe", mg, func() error {
		o, err = c.ExternalClient.Observe(ctx, mg)

		return err
	})

	return o, err
}

// Create creates.
func (c wrapped) Create(ctx context.Context, mg resource.Managed) error {
	return c.through("Create", mg, func() error { return c.ExternalClient.Create(ctx, mg) })
}

// Update updates.
func (c wrapped) Update(ctx context.Context, mg resource.Managed) error {
	return c.through("Update", mg, func() error { return c.ExternalClient.Update(ctx, mg) })
}

// Delete deletes.
func (c wrapped) Delete(ctx context.Context, mg resource.Managed) error {
	return c.through("Delete", mg, func() error { return c.ExternalClient.Delete(ctx, mg) })
}

func (c wrapped) through(name string, mg resource.Managed, inner func() error) error {
	if c.call == nil {
		return inner()
	}

	return c.call(name, mg.(*volume.Volume), inner)
}

// over starts a process whose clients wrap those of the cloud.
func (w *world) over(connect func(managed.ExternalClient) managed.ExternalClient) {
	w.options = append(slices.Clone(w.options),
		managed.WithExternalConnecter(managed.TypedExternalConnectorFn[resource.Managed](
			func(ctx context.Context, mg resource.Managed) (managed.ExternalClient, error) {
				inner, err := w.cloud.Connect(ctx, mg)
				if err != nil {
					return nil, err
				}

				return connect(inner), nil
			})))
	w.start()
}

// missed makes the next Observe wrongly find nothing, once.
func (w *world) missed() {
	first := true
	w.cloud.Hidden = func(string) bool {
		was := first
		first = false

		return was
	}
}

// onRequest starts a process that creates again only on request.
func (w *world) onRequest() {
	w.options = append(slices.Clone(w.options), managed.WithRecreationOnRequest())
	w.start()
}
