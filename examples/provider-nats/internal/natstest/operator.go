package natstest

import (
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// Operator makes a server trust one operator with one account that has JetStream, and returns a credentials
// file for a user of it.
func Operator(t testing.TB, opts *server.Options) []byte {
	t.Helper()

	operator, operatorKey := identity(t, nkeys.CreateOperator)
	account, accountKey := identity(t, nkeys.CreateAccount)
	user, userKey := identity(t, nkeys.CreateUser)

	_, systemKey := identity(t, nkeys.CreateAccount)

	claims := jwt.NewAccountClaims(accountKey)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1}

	resolver := &server.MemAccResolver{}

	for _, account := range []*jwt.AccountClaims{claims, jwt.NewAccountClaims(systemKey)} {
		signed, err := account.Encode(operator)
		if err != nil {
			t.Fatal(err)
		}

		if err := resolver.Store(account.Subject, signed); err != nil {
			t.Fatal(err)
		}
	}

	opts.TrustedKeys = []string{operatorKey}
	opts.AccountResolver = resolver
	opts.SystemAccount = systemKey

	userJWT, err := jwt.NewUserClaims(userKey).Encode(account)
	if err != nil {
		t.Fatal(err)
	}

	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}

	creds, err := jwt.FormatUserConfig(userJWT, seed)
	if err != nil {
		t.Fatal(err)
	}

	return creds
}

func identity(t testing.TB, create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
	t.Helper()

	pair, err := create()
	if err != nil {
		t.Fatal(err)
	}

	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}

	return pair, public
}
