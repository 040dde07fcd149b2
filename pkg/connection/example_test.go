package connection_test

import (
	"context"
	"fmt"

	"github.com/moorage-dev/moorage/pkg/connection"
)

type client struct{ user string }

func (c *client) close() { fmt.Println("closed the connection of", c.user) }

// A pass knows the version of the settings, here the generation of a ProviderConfig. The
// Secret is read only when the cache resolves the revision.
func Example() {
	conns := connection.New((*client).close)
	defer conns.Close()

	secret := struct{ resourceVersion, user string }{"17", "alice"}

	pass := func(generation string) {
		lease, err := conns.Acquire(context.Background(), "uid-of-the-config", generation,
			func(context.Context) (string, func(context.Context) (*client, error), error) {
				fmt.Println("read the Secret")
				user := secret.user

				return generation + "/" + secret.resourceVersion, func(context.Context) (*client, error) {
					fmt.Println("connect as", user)

					return &client{user: user}, nil
				}, nil
			})
		if err != nil {
			fmt.Println(err)

			return
		}
		defer lease.Release()

		fmt.Println("work as", lease.Value().user)
	}

	pass("1")
	pass("1")

	// The Secret was rotated, and the external system rejects the old user.
	secret.resourceVersion, secret.user = "18", "bob"
	conns.Recheck("uid-of-the-config")
	pass("1")
	// Output:
	// read the Secret
	// connect as alice
	// work as alice
	// work as alice
	// read the Secret
	// closed the connection of alice
	// connect as bob
	// work as bob
	// closed the connection of bob
}
