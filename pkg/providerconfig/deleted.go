package providerconfig

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// UsedForDeletion reports whether an object that refers to the configuration is being deleted and still exists. Use it
// with connection.Missing, to find out whether deleted credentials are still needed. As in a call of Setup, each
// element of the argument users is an empty object of a kind. The client should be the client of the manager, which
// reads from a cache and sends no request.
func UsedForDeletion(ctx context.Context, c client.Client, kinds Kinds, users []User, config Config) (bool, error) {
	configs, err := newConfigKinds(kinds, c)
	if err != nil {
		return false, err
	}
	kind, err := c.GroupVersionKindFor(config)
	if err != nil {
		return false, errors.Wrap(err, "cannot determine the kind of a configuration")
	}
	k := key{kind: kind.Kind, namespace: config.GetNamespace(), name: config.GetName()}
	for _, of := range users {
		gvk, err := c.GroupVersionKindFor(of)
		if err != nil {
			return false, errors.Wrap(err, "cannot determine the kind of a user")
		}
		err = eachUser(ctx, c, c.Scheme(), configs, gvk, k, func(u User) error {
			if u.GetDeletionTimestamp().IsZero() {
				return nil
			}

			return errFound
		})
		switch {
		case errors.Is(err, errFound):
			return true, nil
		case err != nil:
			return false, err
		}
	}

	return false, nil
}
