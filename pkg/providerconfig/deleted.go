package providerconfig

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// UsedForDeletion reports whether an object that refers to a configuration is being
// deleted, and still exists. The kinds of the objects are given as to Setup, each by an
// empty object. The client is that of the manager, which reads from its cache and sends no
// request. Use it with connection.Missing, to find out whether deleted credentials are
// still needed.
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
