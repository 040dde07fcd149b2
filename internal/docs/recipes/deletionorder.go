package recipes

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// An OrderAPI refuses to drop a protected database, and a database on which other objects depend (ErrInUse).
type OrderAPI interface {
	Unprotect(ctx context.Context, name string) error
	Drop(ctx context.Context, name string) error
}

// An OrderClient deletes databases.
type OrderClient struct{ API OrderAPI }

// Delete makes its requests in order. Each of them may be repeated, because Delete is called again until Observe finds
// nothing.
func (c *OrderClient) Delete(ctx context.Context, db *v1alpha1.Database) error {
	name := meta.GetExternalName(db)
	err := c.API.Unprotect(ctx, name)
	if err == nil {
		err = c.API.Drop(ctx, name)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return nil
	case errors.Is(err, ErrInUse): // the server knows the order better than the objects do
		return external.RetryAfter(10*time.Second, errors.Wrap(err, "cannot drop the database yet"))
	default:
		return err
	}
}
