package recipes

import (
	"context"
	"strings"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// A ZoneAPI assigns the ID of a resource, which is unique only within its zone.
type ZoneAPI interface {
	Create(ctx context.Context, zone string) (id string, err error)
	Drop(ctx context.Context, zone, id string) error
}

// A ZoneClient has resources with two keys.
type ZoneClient struct{ API ZoneAPI }

// Create writes both keys into the external name.
func (c *ZoneClient) Create(ctx context.Context, u *v1alpha1.User) error {
	zone := u.Spec.Team // immutable: +kubebuilder:validation:XValidation:rule="self == oldSelf"
	id, err := c.API.Create(ctx, zone)
	if err != nil {
		return err
	}
	meta.SetExternalName(u, zone+"/"+id)

	return nil
}

// keys returns both keys. The spec does not count after the creation: only the external name leads to what exists.
func keys(u *v1alpha1.User) (zone, id string, err error) {
	name := meta.GetExternalName(u)
	zone, id, ok := strings.Cut(name, "/")
	if !ok || zone == "" || id == "" || strings.Contains(id, "/") {
		return "", "", external.Terminal("InvalidExternalName",
			errors.Errorf("the external name is %q: set it to ZONE/ID", name))
	}

	return zone, id, nil
}
