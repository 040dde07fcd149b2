package provider

import (
	"context"
	"errors"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/bench/internal/cloud"
	"github.com/moorage-dev/moorage/bench/internal/widget"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An external is the cloud as a provider with Moorage uses it.
type external struct{ *cloud.Cloud }

func (m external) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return m, nil
}

func (m external) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	b := mg.(*widget.Widget) // the only kind
	name := meta.GetExternalName(b)
	if name == "" {
		return managed.ExternalObservation{}, nil
	}
	found, err := m.Find(ctx, name)
	if errors.Is(err, cloud.ErrNotFound) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, err
	}

	return see(b, found), nil
}

func see(b *widget.Widget, found cloud.Widget) managed.ExternalObservation {
	b.Status.Size = found.Size
	b.SetConditions(commonv1.Available())

	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: found.Size == b.Spec.Size}
}

func (m external) ListPage(ctx context.Context, token string) (page managed.ExternalListPage, err error) {
	widgets, next, err := m.Page(ctx, token)
	for _, b := range widgets {
		page.Items = append(page.Items, managed.ListedResource{ExternalName: b.ID, Resource: b})
	}
	page.Continue = next

	return page, err
}

func (m external) ObserveListed(_ context.Context, mg resource.Managed, listed any) (managed.ExternalObservation,
	error) {
	shown := listed.(cloud.Listed) // the element type of ListPage
	m.Serve(shown)

	return see(mg.(*widget.Widget), shown.Widget), nil // the only kind
}

func (m external) Create(ctx context.Context, mg resource.Managed) error {
	b := mg.(*widget.Widget) // the only kind
	name, err := m.Make(ctx, meta.GetExternalName(b), managed.CreationToken(ctx), b.Spec.Size)
	if err == nil {
		meta.SetExternalName(b, name)
	}

	return err
}

func (m external) Update(ctx context.Context, mg resource.Managed) error {
	return m.Change(ctx, meta.GetExternalName(mg), mg.(*widget.Widget).Spec.Size) // the only kind
}

func (m external) Delete(ctx context.Context, mg resource.Managed) error {
	return m.Remove(ctx, meta.GetExternalName(mg))
}
