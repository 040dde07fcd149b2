package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// A hub is a NATS server with an operator key that signs accounts.
type hub struct {
	server   *server.Server
	resolver *server.MemAccResolver
	operator nkeys.KeyPair
	dir      string

	mu      sync.Mutex
	removed map[string]bool
}

func newHub() (h *hub, err error) {
	h = &hub{resolver: &server.MemAccResolver{}, removed: map[string]bool{}}
	if h.operator, err = nkeys.CreateOperator(); err != nil {
		return nil, err
	}
	system, err := nkeys.CreateAccount()
	if err != nil {
		return nil, err
	}
	systemKey, err := system.PublicKey()
	if err != nil {
		return nil, err
	}
	if err := h.store(jwt.NewAccountClaims(systemKey)); err != nil {
		return nil, err
	}
	operatorKey, err := h.operator.PublicKey()
	if err != nil {
		return nil, err
	}
	if h.dir, err = os.MkdirTemp("", "service-provider-"); err != nil {
		return nil, err
	}
	h.server, err = server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: h.dir,
		AuthTimeout: 60, // seconds; the default, two, is too short for a busy machine
		TrustedKeys: []string{operatorKey}, SystemAccount: systemKey, AccountResolver: h.resolver,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(h.dir))
	}
	h.server.Start()
	if !h.server.ReadyForConnections(time.Minute) {
		h.stop()

		return nil, errors.New("NATS does not start")
	}

	return h, nil
}

func (h *hub) stop() {
	h.server.Shutdown()
	h.server.WaitForShutdown()
	_ = os.RemoveAll(h.dir)
}

func (h *hub) store(c *jwt.AccountClaims) error {
	token, err := c.Encode(h.operator)
	if err != nil {
		return err
	}

	return h.resolver.Store(c.Subject, token)
}

// offer ensures that an account exists with this limit of connections.
func (h *hub) offer(key string, connections int64) error {
	if now, err := h.allows(key); err == nil && now == connections {
		return nil
	}
	claims := jwt.NewAccountClaims(key)
	claims.Limits.Conn = connections
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: 1 << 20, DiskStorage: 1 << 20, Streams: 10, Consumer: 10,
	}
	if err := h.store(claims); err != nil {
		return err
	}
	token, err := h.resolver.Fetch(key)
	if err != nil {
		return err
	}
	if account, err := h.server.LookupAccount(key); err == nil {
		now, err := jwt.DecodeAccountClaims(token)
		if err != nil {
			return err
		}
		h.server.UpdateAccountClaims(account, now)
	}

	return nil
}

// allows returns the limit of connections that NATS enforces for an account. It fails if the account does not exist.
func (h *hub) allows(key string) (int64, error) {
	h.mu.Lock()
	removed := h.removed[key]
	h.mu.Unlock()
	token, err := h.resolver.Fetch(key)
	if err != nil || removed {
		return 0, errors.New("there is no such account")
	}
	claims, err := jwt.DecodeAccountClaims(token)
	if err != nil {
		return 0, err
	}

	return claims.Limits.Conn, nil
}

// remove disables an account: it revokes the credentials of all its users.
func (h *hub) remove(key string) error {
	claims := jwt.NewAccountClaims(key)
	claims.Limits.Conn = 0
	claims.Revoke(jwt.All)
	if err := h.store(claims); err != nil {
		return err
	}
	if account, err := h.server.LookupAccount(key); err == nil {
		h.server.UpdateAccountClaims(account, claims)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.removed[key] = true

	return nil
}

// credentials creates a user of an account, and returns its credentials.
func credentials(account nkeys.KeyPair) ([]byte, error) {
	user, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	key, err := user.PublicKey()
	if err != nil {
		return nil, err
	}
	token, err := jwt.NewUserClaims(key).Encode(account)
	if err != nil {
		return nil, err
	}
	seed, err := user.Seed()
	if err != nil {
		return nil, err
	}

	return jwt.FormatUserConfig(token, seed)
}

// connect connects with credentials.
func (h *hub) connect(creds []byte) (*nats.Conn, error) {
	return nats.Connect(h.server.ClientURL(), nats.UserCredentialBytes(creds), nats.Timeout(10*time.Second),
		nats.MaxReconnects(0))
}

// streams returns the number of streams in a tenant's account.
func (h *hub) streams(ctx context.Context, creds []byte) (int, error) {
	conn, err := h.connect(creds)
	if err != nil {
		return 0, fmt.Errorf("cannot connect to the account: %w", err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return 0, err
	}
	info, err := js.AccountInfo(ctx)
	if err != nil {
		return 0, fmt.Errorf("cannot look at the account: %w", err)
	}

	return info.Streams, nil
}
