package recipes

import (
	"context"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A ListAPI lists databases page by page.
type ListAPI interface {
	List(ctx context.Context, token string) (page []Record, next string, err error)
}

// A BulkClient is a SlowClient that can also list.
type BulkClient struct {
	*SlowClient

	Lists ListAPI
}

var _ managed.TypedExternalLister[*v1alpha1.Database] = (*BulkClient)(nil)

// ListPage returns a page of the list.
func (c *BulkClient) ListPage(ctx context.Context, token string) (managed.ExternalListPage, error) {
	page, next, err := c.Lists.List(ctx, token)
	out := managed.ExternalListPage{Continue: next}
	for _, r := range page {
		out.Items = append(out.Items, managed.ListedResource{ExternalName: r.Name, Resource: r})
	}

	return out, err
}

// ObserveListed observes an item of the list without a request. Observe should call the same function.
func (c *BulkClient) ObserveListed(_ context.Context, db *v1alpha1.Database, listed any) (
	managed.ExternalObservation, error) {
	found, ok := listed.(Record)
	if !ok {
		return managed.ExternalObservation{}, errors.Errorf("unexpected item %T", listed)
	}
	db.SetConditions(commonv1.Available())

	return managed.ExternalObservation{
		ResourceExists: true, Owner: c.Stamp.Owner(found.Stamp), ResourceUpToDate: found == c.desired(db),
	}, nil
}
