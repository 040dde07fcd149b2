package recipes

import (
	"context"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A KeyAPI returns the secret of a key only in the response to the create.
type KeyAPI interface {
	Create(ctx context.Context, name, stamp string) (id, secret string, err error)
}

// A KeyClient creates keys.
type KeyClient struct {
	API   KeyAPI
	Stamp managed.Stamp
}

// KeyOptions let the reconciler check before Create that it can write the Secret.
func KeyOptions() []managed.ReconcilerOption {
	return []managed.ReconcilerOption{managed.WithCreationTokens(), managed.WithCreationConnectionDetails()}
}

// Create creates the key, and hands its secret over before it returns.
func (c *KeyClient) Create(ctx context.Context, u *v1alpha1.User) error {
	id, secret, err := c.API.Create(ctx, managed.CreationToken(ctx), string(c.Stamp))
	if err != nil {
		return err
	}
	external.Conceal(ctx, []byte(secret))
	managed.TellConnectionDetails(ctx, managed.ConnectionDetails{"id": []byte(id), "secret": []byte(secret)})
	meta.SetExternalName(u, id)

	return nil
}
