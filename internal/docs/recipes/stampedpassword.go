package recipes

import (
	"context"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// An AccountAPI has users with passwords, and stores the stamp of a user in a comment. Each method is one request.
type AccountAPI interface {
	Get(ctx context.Context, name string) (Record, error)
	Create(ctx context.Context, name string, password []byte) error
	Alter(ctx context.Context, name, team string, password []byte) error
	Comment(ctx context.Context, name, text string) error
	Rename(ctx context.Context, from, to string) error
	LogIn(ctx context.Context, name string, password []byte) (bool, error)
	Drop(ctx context.Context, name string) error
}

// StampedPasswords connects to the API for one process. Passwords reads or generates the password of an object.
type StampedPasswords struct {
	API       AccountAPI
	Passwords *Passwords
}

// Connect determines the password, and keeps it out of all errors, events and logs.
func (s *StampedPasswords) Connect(ctx context.Context, u *v1alpha1.User) (
	managed.TypedExternalClient[*v1alpha1.User], error) {
	password, err := s.Passwords.password(ctx, u)
	if err != nil {
		return nil, err
	}
	external.Conceal(ctx, password)

	return &StampedPassword{api: s.API, password: password, stamp: s.Passwords.Stamp(u)}, nil
}

// A StampedPassword is the client for one user and one pass.
type StampedPassword struct {
	api      AccountAPI
	password []byte // nil: the object names no Secret, or Update may not set a new one
	stamp    managed.Stamp
}

// Observe reads the user. If the user is not ours, Observe also looks for the draft.
func (c *StampedPassword) Observe(ctx context.Context, u *v1alpha1.User) (managed.ExternalObservation, error) {
	found, err := c.api.Get(ctx, meta.GetExternalName(u))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return managed.ExternalObservation{}, err
	}
	out := managed.ExternalObservation{
		ResourceExists: err == nil, Owner: c.stamp.Owner(found.Stamp), OwnerStamp: managed.Stamp(found.Stamp),
		ConnectionDetails: c.details(u),
	}
	if !out.ResourceExists || out.Owner != managed.OwnerOurs {
		return c.observeDraft(ctx, u, out)
	}
	works := c.password == nil
	if !works {
		if works, err = c.api.LogIn(ctx, found.Name, c.password); err != nil {
			return managed.ExternalObservation{}, err
		}
	}
	out.ResourceUpToDate = works && found.Team == u.Spec.Team && found.Stamp == string(c.stamp)
	u.SetConditions(commonv1.Available())

	return out, nil
}

// observeDraft looks for the draft, which is ours by its name. Its password is published, before Update completes it.
func (c *StampedPassword) observeDraft(ctx context.Context, u *v1alpha1.User,
	other managed.ExternalObservation) (managed.ExternalObservation, error) {
	switch _, err := c.api.Get(ctx, draft(u)); {
	case err == nil:
		other.ResourceExists, other.Owner, other.OwnerStamp = true, managed.OwnerOurs, ""
	case !errors.Is(err, ErrNotFound):
		return managed.ExternalObservation{}, err
	}

	return other, nil
}

// details returns the details for the Secret. Those of a draft have the name that it will get.
func (c *StampedPassword) details(u *v1alpha1.User) managed.ConnectionDetails {
	if c.password == nil {
		return nil
	}

	return managed.ConnectionDetails{"username": []byte(meta.GetExternalName(u)), "password": c.password}
}

// Create makes the user under the draft name, and completes it. No user is made without a password.
func (c *StampedPassword) Create(ctx context.Context, u *v1alpha1.User) error {
	if c.password == nil {
		return external.NotCreated(external.Terminal("ConnectionSecretRequired",
			errors.New("set spec.writeConnectionSecretToRef")))
	}
	switch _, err := c.api.Get(ctx, meta.GetExternalName(u)); {
	case err == nil:
		return external.AlreadyExists(ErrConflict)
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if err := c.api.Create(ctx, draft(u), c.password); err != nil && !errors.Is(err, ErrConflict) {
		return err
	}

	return c.complete(ctx, u)
}

// complete sets the team, the password and the stamp of the draft, and renames it last. Each step may be repeated.
func (c *StampedPassword) complete(ctx context.Context, u *v1alpha1.User) error {
	if err := c.set(ctx, draft(u), u); err != nil {
		return err
	}
	err := c.api.Rename(ctx, draft(u), meta.GetExternalName(u))
	if !errors.Is(err, ErrConflict) {
		return err
	}
	if err := c.api.Drop(ctx, draft(u)); err != nil { // the name was taken meanwhile, so the draft is useless
		return err
	}

	return external.AlreadyExists(err)
}

// set sets the team and the password, and then the stamp.
func (c *StampedPassword) set(ctx context.Context, name string, u *v1alpha1.User) error {
	if err := c.api.Alter(ctx, name, u.Spec.Team, c.password); err != nil {
		return err
	}

	return c.api.Comment(ctx, name, string(c.stamp))
}

// Update completes a draft. If there is none, Update corrects the user.
func (c *StampedPassword) Update(ctx context.Context, u *v1alpha1.User) error {
	if err := c.complete(ctx, u); !errors.Is(err, ErrNotFound) {
		return err
	}

	return c.set(ctx, meta.GetExternalName(u), u)
}

// Delete drops the draft and the user. A user of another owner stays.
func (c *StampedPassword) Delete(ctx context.Context, u *v1alpha1.User) error {
	if err := c.api.Drop(ctx, draft(u)); !errors.Is(err, ErrNotFound) {
		return err // the draft is dropped, or the request failed: the next pass looks for the rest
	}
	found, err := c.api.Get(ctx, meta.GetExternalName(u))
	if err == nil && c.stamp.Owner(found.Stamp) != managed.OwnerOther {
		err = c.api.Drop(ctx, found.Name)
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}

	return err
}
