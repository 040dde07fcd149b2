package providerconfig

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// UsedForDeletion reports whether an object that refers to a configuration is being
// deleted, and is not gone yet. The kinds of the objects are given as they are to Setup,
// each by an empty object. The client is that of the manager, and answers from its cache,
// so that nothing is sent. It is what connection.Missing asks: whether credentials that
// are gone are still needed.
func UsedForDeletion(ctx context.Context, c client.Client, kinds Kinds, users []User, config Config) (bool, error) {
	f, err := newFamily(kinds, c)
	if err != nil {
		return false, err
	}
	kind, err := c.GroupVersionKindFor(config)
	if err != nil {
		return false, errors.Wrap(err, "cannot tell the kind of a configuration")
	}
	k := key{kind: kind.Kind, namespace: config.GetNamespace(), name: config.GetName()}
	for _, of := range users {
		gvk, err := c.GroupVersionKindFor(of)
		if err != nil {
			return false, errors.Wrap(err, "cannot tell a kind of users")
		}
		err = eachUser(ctx, c, c.Scheme(), f, gvk, k, func(u User) error {
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
