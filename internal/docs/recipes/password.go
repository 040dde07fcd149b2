package recipes

import (
	"context"
	"crypto/rand"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A PasswordAPI has users with passwords. LogIn reports whether the user can log in with the password.
type PasswordAPI interface {
	Get(ctx context.Context, name string) (Record, error)
	Create(ctx context.Context, user Record, password []byte) error
	Change(ctx context.Context, user Record, password []byte) error
	LogIn(ctx context.Context, name string, password []byte) (bool, error)
	Drop(ctx context.Context, name string) error
}

// Passwords connects to the API for one process.
type Passwords struct {
	API     PasswordAPI
	Secrets client.Reader // without a cache: m.GetAPIReader()
	Stamp   func(*v1alpha1.User) managed.Stamp

	made sync.Map // password by UID, until the Secret has it
}

// password returns the password in the connection Secret. If there is none yet, it returns a new one, unless the
// policies of the object do not allow Update.
func (p *Passwords) password(ctx context.Context, u *v1alpha1.User) ([]byte, error) {
	ref, secret := u.Spec.WriteConnectionSecretToRef, &corev1.Secret{}
	if ref == nil || meta.WasDeleted(u) {
		return nil, nil
	}
	err := p.Secrets.Get(ctx, client.ObjectKey{Namespace: u.GetNamespace(), Name: ref.Name}, secret)
	switch {
	case err != nil && !resource.IsNotFound(err):
		return nil, errors.Wrap(err, "cannot read the connection Secret")
	case metav1.IsControlledBy(secret, u) && len(secret.Data["password"]) > 0:
		p.made.Delete(u.GetUID())

		return secret.Data["password"], nil
	case !meta.ShouldUpdate(u):
		return nil, nil // Update may not set a new one
	}
	password, _ := p.made.LoadOrStore(u.GetUID(), rand.Text()) // the same until it is published

	return []byte(password.(string)), nil
}

// Connect determines the password, and keeps it out of all errors, events and logs.
func (p *Passwords) Connect(ctx context.Context, u *v1alpha1.User) (
	managed.TypedExternalClient[*v1alpha1.User], error) {
	password, err := p.password(ctx, u)
	if err != nil {
		return nil, err
	}
	external.Conceal(ctx, password)

	return &passwordClient{api: p.API, password: password, stamp: p.Stamp(u)}, nil
}

// A passwordClient is the client for one user and one pass.
type passwordClient struct {
	api      PasswordAPI
	password []byte // nil: the object names no Secret
	stamp    managed.Stamp
}

// Observe returns the password, so that the reconciler publishes it before it calls Update.
func (c *passwordClient) Observe(ctx context.Context, u *v1alpha1.User) (managed.ExternalObservation, error) {
	found, err := c.api.Get(ctx, meta.GetExternalName(u))
	if errors.Is(err, ErrNotFound) {
		return managed.ExternalObservation{}, nil
	}
	works := c.password == nil
	if err == nil && !works {
		works, err = c.api.LogIn(ctx, found.Name, c.password)
	}
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	out := managed.ExternalObservation{
		ResourceExists: true, Owner: c.stamp.Owner(found.Stamp), OwnerStamp: managed.Stamp(found.Stamp),
		ResourceUpToDate: works && found.Team == u.Spec.Team && found.Stamp == string(c.stamp),
	}
	if c.password != nil {
		out.ConnectionDetails = managed.ConnectionDetails{"username": []byte(found.Name), "password": c.password}
	}
	if out.Owner == managed.OwnerOurs {
		u.SetConditions(commonv1.Available())
	}

	return out, nil
}

// Create creates the user with the password.
func (c *passwordClient) Create(ctx context.Context, u *v1alpha1.User) error {
	err := c.api.Create(ctx, c.desired(u), c.password)
	if errors.Is(err, ErrConflict) {
		return external.AlreadyExists(err)
	}

	return err
}

// Update sets the team, the stamp and the password.
func (c *passwordClient) Update(ctx context.Context, u *v1alpha1.User) error {
	return c.api.Change(ctx, c.desired(u), c.password)
}

// Delete drops the user.
func (c *passwordClient) Delete(ctx context.Context, u *v1alpha1.User) error {
	if err := c.api.Drop(ctx, meta.GetExternalName(u)); !errors.Is(err, ErrNotFound) {
		return err
	}

	return nil
}

func (c *passwordClient) desired(u *v1alpha1.User) Record {
	return Record{Name: meta.GetExternalName(u), Team: u.Spec.Team, Stamp: string(c.stamp)}
}
