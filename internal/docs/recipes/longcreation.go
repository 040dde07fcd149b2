package recipes

import (
	"context"
	"time"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A SlowAPI creates databases that it shows at once, in the state Creating. It refuses to drop such a database.
type SlowAPI interface {
	Get(ctx context.Context, name string) (Record, error)
	Create(ctx context.Context, db Record) error
	Change(ctx context.Context, db Record) error
	Drop(ctx context.Context, name string) error
}

// A SlowClient is the client for one database whose creation takes an hour.
type SlowClient struct {
	API   SlowAPI
	Stamp managed.Stamp
}

// Observe reports a database that is being created as existing and not ready.
func (c *SlowClient) Observe(ctx context.Context, db *v1alpha1.Database) (managed.ExternalObservation, error) {
	found, err := c.API.Get(ctx, meta.GetExternalName(db))
	if errors.Is(err, ErrNotFound) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	out := managed.ExternalObservation{
		ResourceExists: true, Owner: c.Stamp.Owner(found.Stamp), OwnerStamp: managed.Stamp(found.Stamp),
		ResourceUpToDate: found == c.desired(db),
	}
	switch {
	case found.Creating:
		out.ResourceUpToDate = true // it cannot be changed yet
		db.SetConditions(commonv1.Creating())
	case out.Owner == managed.OwnerOurs:
		db.SetConditions(commonv1.Available())
	}

	return out, nil
}

// Create starts the creation.
func (c *SlowClient) Create(ctx context.Context, db *v1alpha1.Database) error {
	err := c.API.Create(ctx, c.desired(db))
	if errors.Is(err, ErrConflict) {
		return external.AlreadyExists(err)
	}

	return err
}

// Update corrects the database.
func (c *SlowClient) Update(ctx context.Context, db *v1alpha1.Database) error {
	return c.API.Change(ctx, c.desired(db))
}

// Delete drops the database. While the database is being created, Delete is tried again every minute.
func (c *SlowClient) Delete(ctx context.Context, db *v1alpha1.Database) error {
	switch err := c.API.Drop(ctx, meta.GetExternalName(db)); {
	case errors.Is(err, ErrNotFound):
		return nil
	case errors.Is(err, ErrInUse):
		return external.RetryAfter(time.Minute, errors.Wrap(err, "it is still being created"))
	default:
		return err
	}
}

func (c *SlowClient) desired(db *v1alpha1.Database) Record {
	return Record{Name: meta.GetExternalName(db), SizeGiB: db.Spec.SizeGiB, Stamp: string(c.Stamp)}
}
