package recipes

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

var _ interface {
	managed.BackendIdentifier
	managed.ConnectionDescriber
	managed.ExternalDisconnecter
} = (*AccountClient)(nil)

// TestAccounts: objects of one ProviderConfig share a connection, and those of another have another account.
func TestAccounts(t *testing.T) {
	logins := 0
	a := &Accounts{
		Cache: connection.New(func(*Account) {}),
		LogIn: func(_ context.Context, c Config) (*Account, error) {
			logins++

			return &Account{ID: "account of " + c.Name}, nil
		},
	}
	defer a.Cache.Close()
	for _, name := range []string{"prod", "prod", "test"} {
		c, err := a.Connect(t.Context(), Config{Namespace: "default", Name: name, UID: types.UID(name)})
		if err != nil {
			t.Fatal(err)
		}
		if c.Identity() != "account of "+name || c.DescribeConnection().Name != "ProviderConfig/default/"+name {
			t.Errorf("%s: %s, %v", name, c.Identity(), c.DescribeConnection())
		}
		if err := c.Disconnect(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if logins != 2 {
		t.Errorf("%d logins for two accounts", logins)
	}
}
