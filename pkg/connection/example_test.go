package connection_test

import (
	"context"
	"fmt"

	"github.com/moorage-dev/moorage/pkg/connection"
)

type client struct{ user string }

func (c *client) close() { fmt.Println("closed the connection of", c.user) }

// The generation of a ProviderConfig is what a pass knows; the Secret it refers
// to is read, live, only when the cache asks for it.
func Example() {
	conns := connection.New((*client).close)
	defer conns.Close()

	secret := struct{ resourceVersion, user string }{"17", "ahab"}

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

	// The Secret was rotated, and the old user is refused.
	secret.resourceVersion, secret.user = "18", "ishmael"
	conns.Recheck("uid-of-the-config")
	pass("1")
	// Output:
	// read the Secret
	// connect as ahab
	// work as ahab
	// work as ahab
	// read the Secret
	// closed the connection of ahab
	// connect as ishmael
	// work as ishmael
	// closed the connection of ishmael
}
