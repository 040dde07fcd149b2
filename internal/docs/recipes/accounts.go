package recipes

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// An Account is a connection to one account.
type Account struct{ ID string }

// Config is what a ProviderConfig says of an account.
type Config struct {
	Namespace, Name string
	UID             types.UID
	Version         string // connection.Version of its spec
	SecretVersion   string
}

// Accounts shares connections. LogIn connects to an account.
type Accounts struct {
	Cache *connection.Cache[*Account]
	LogIn func(ctx context.Context, c Config) (*Account, error)
}

// An AccountClient calls one account. The methods for resources are left out.
type AccountClient struct {
	lease      *connection.Lease[*Account]
	connection managed.Connection
}

// Connect returns a client of the account. All objects of one ProviderConfig share a connection.
func (a *Accounts) Connect(ctx context.Context, c Config) (*AccountClient, error) {
	id := string(c.UID)
	lease, err := a.Cache.Acquire(ctx, id, c.Version,
		func(context.Context) (string, func(context.Context) (*Account, error), error) { // reads the Secret
			logIn := func(ctx context.Context) (*Account, error) { return a.LogIn(ctx, c) }

			return c.Version + "/" + c.SecretVersion, logIn, nil
		})
	if err != nil {
		return nil, errors.Wrap(err, "cannot connect to the account")
	}

	return &AccountClient{lease: lease, connection: managed.Connection{
		Name:     "ProviderConfig/" + c.Namespace + "/" + c.Name,
		Revision: c.Version + "/" + c.SecretVersion,
		Recheck:  func() { a.Cache.Recheck(id) },
	}}, nil
}

// Identity names the account. If the ProviderConfig leads to another account, no call is made until a user allows it.
func (c *AccountClient) Identity() string { return c.lease.Value().ID }

// DescribeConnection names the connection for limits, and for credentials that the account rejects.
func (c *AccountClient) DescribeConnection() managed.Connection { return c.connection }

// Disconnect ends the use of the connection by this pass.
func (c *AccountClient) Disconnect(context.Context) error {
	c.lease.Release()

	return nil
}
