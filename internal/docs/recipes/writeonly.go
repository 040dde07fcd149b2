package recipes

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// A TokenAPI takes a token, and never returns it.
type TokenAPI interface {
	SetToken(ctx context.Context, name string, token []byte) error
}

// A TokenClient is the client for one user and one pass. Connect reads the Secret with the token.
type TokenClient struct {
	API    TokenAPI
	Secret *corev1.Secret
}

// version identifies the token without showing anything of it.
func (c *TokenClient) version() string { return string(c.Secret.UID) + "/" + c.Secret.ResourceVersion }

// upToDate reports whether the current token was sent. It is a part of ResourceUpToDate.
func (c *TokenClient) upToDate(u *v1alpha1.User) bool { return u.Status.AppliedToken == c.version() }

// Update sends the token, and then records its version. If the record is lost, the token is sent once more.
func (c *TokenClient) Update(ctx context.Context, u *v1alpha1.User) error {
	if err := c.API.SetToken(ctx, meta.GetExternalName(u), c.Secret.Data["token"]); err != nil {
		return err
	}
	u.Status.AppliedToken = c.version()

	return nil
}
