package recipes

import (
	"context"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A CommentAPI stores the stamp of a database in a comment, which takes a request of its own.
type CommentAPI interface {
	Get(ctx context.Context, name string) (Record, error)
	Create(ctx context.Context, name string) error
	Comment(ctx context.Context, name, text string) error
	Rename(ctx context.Context, from, to string) error
	Resize(ctx context.Context, name string, sizeGiB int32) error
	Drop(ctx context.Context, name string) error
}

// A LateStamp is the client for one database.
type LateStamp struct {
	API   CommentAPI
	Stamp managed.Stamp
}

// draft returns the name under which a resource is made. No other object has this UID.
func draft(mg resource.Managed) string { return "draft-" + string(mg.GetUID()) }

// Observe reads the database. If the database is not ours, Observe also looks for the draft.
func (c *LateStamp) Observe(ctx context.Context, db *v1alpha1.Database) (managed.ExternalObservation, error) {
	found, err := c.API.Get(ctx, meta.GetExternalName(db))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return managed.ExternalObservation{}, err
	}
	out := managed.ExternalObservation{
		ResourceExists: err == nil, ResourceUpToDate: found.SizeGiB == db.Spec.SizeGiB,
		Owner: c.Stamp.Owner(found.Stamp), OwnerStamp: managed.Stamp(found.Stamp),
	}
	if out.ResourceExists && out.Owner == managed.OwnerOurs {
		db.SetConditions(commonv1.Available())

		return out, nil // the steady state: one request
	}

	return c.observeDraft(ctx, db, out)
}

// observeDraft looks for the draft. If there is none, the observation of the database counts.
func (c *LateStamp) observeDraft(ctx context.Context, db *v1alpha1.Database,
	other managed.ExternalObservation) (managed.ExternalObservation, error) {
	_, err := c.API.Get(ctx, draft(db))
	switch {
	case errors.Is(err, ErrNotFound):
		other.ResourceUpToDate = false // an adopted database gets our stamp

		return other, nil
	case err != nil:
		return managed.ExternalObservation{}, err
	default: // half made, and ours by its name: Update completes it
		return managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerOurs}, nil
	}
}

// Create makes the database under its draft name, and completes it.
func (c *LateStamp) Create(ctx context.Context, db *v1alpha1.Database) error {
	switch _, err := c.API.Get(ctx, meta.GetExternalName(db)); {
	case err == nil:
		return external.AlreadyExists(ErrConflict)
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if err := c.API.Create(ctx, draft(db)); err != nil && !errors.Is(err, ErrConflict) {
		return err
	}

	return c.complete(ctx, db)
}

// complete sets the size and the stamp of the draft, and renames it. Each step may be repeated.
func (c *LateStamp) complete(ctx context.Context, db *v1alpha1.Database) error {
	if err := c.set(ctx, draft(db), db); err != nil {
		return err
	}
	err := c.API.Rename(ctx, draft(db), meta.GetExternalName(db))
	if !errors.Is(err, ErrConflict) {
		return err
	}
	if err := c.API.Drop(ctx, draft(db)); err != nil { // the name was taken meanwhile, so the draft is useless
		return err
	}

	return external.AlreadyExists(err)
}

// set sets the size and the stamp of a database.
func (c *LateStamp) set(ctx context.Context, name string, db *v1alpha1.Database) error {
	if err := c.API.Resize(ctx, name, db.Spec.SizeGiB); err != nil {
		return err
	}

	return c.API.Comment(ctx, name, string(c.Stamp))
}

// Update completes a draft. If there is none, Update corrects the database.
func (c *LateStamp) Update(ctx context.Context, db *v1alpha1.Database) error {
	if err := c.complete(ctx, db); !errors.Is(err, ErrNotFound) {
		return err
	}

	return c.set(ctx, meta.GetExternalName(db), db)
}

// Delete drops the draft and the database. A database of another owner stays.
func (c *LateStamp) Delete(ctx context.Context, db *v1alpha1.Database) error {
	if err := c.API.Drop(ctx, draft(db)); !errors.Is(err, ErrNotFound) {
		return err // the draft is dropped, or the request failed: the next pass looks for the rest
	}
	found, err := c.API.Get(ctx, meta.GetExternalName(db))
	if err == nil && c.Stamp.Owner(found.Stamp) != managed.OwnerOther {
		err = c.API.Drop(ctx, found.Name)
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}

	return err
}
