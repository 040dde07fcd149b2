package recipes

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A LabelAPI assigns IDs, and finds resources by a label. Names may change at any time.
type LabelAPI interface {
	Create(ctx context.Context, name, label string) (Record, error)
	ByLabel(ctx context.Context, label string) (Record, error)
}

// A LabelClient creates databases under names that the API changes.
type LabelClient struct{ API LabelAPI }

var _ interface {
	RecoverCreation(context.Context, *v1alpha1.Database, string) (bool, error)
	RecoveryWindow() time.Duration
} = (*LabelClient)(nil)

// Create stores the ID that the API returns, and not the name that was asked for.
func (c *LabelClient) Create(ctx context.Context, db *v1alpha1.Database) error {
	created, err := c.API.Create(ctx, db.GetName(), managed.CreationToken(ctx))
	if err != nil {
		return err
	}
	meta.SetExternalName(db, created.ID)

	return nil
}

// RecoverCreation finds what a Create made whose response was lost.
func (c *LabelClient) RecoverCreation(ctx context.Context, db *v1alpha1.Database, token string) (bool, error) {
	found, err := c.API.ByLabel(ctx, token)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	meta.SetExternalName(db, found.ID)

	return true, nil
}

// RecoveryWindow is how long the search may lag behind a create.
func (c *LabelClient) RecoveryWindow() time.Duration { return time.Minute }
