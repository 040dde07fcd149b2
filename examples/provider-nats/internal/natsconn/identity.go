package natsconn

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Every user may ask NATS for its own account.
const (
	userInfo        = "REQ.USER.INFO"
	userInfoSubject = "$SYS." + userInfo
)

// An identity is the answer of NATS and the server that gave it, or the error and its time.
type identity struct {
	server, value string

	err error
	at  time.Time
}

// answers reports whether the server need not be asked again: it has answered, or failed to a moment ago.
func (i identity) answers(server string, now time.Time) bool {
	return server != "" && i.server == server && (i.err == nil || now.Sub(i.at) < requestTimeout)
}

// Identity returns the identity of the JetStream, which does not depend on its address: the name of the
// cluster, the account, and the domain or prefix if there is one, separated by slashes. It is empty if NATS
// does not report the account, because the server is old or forbids the request. The answer is kept while
// the connection stays with one server. Errors mean that the identity is unknown at the moment, and are
// kept for five seconds: concurrent callers share one request.
func (c *Conn) Identity(ctx context.Context) (string, error) {
	if known := c.known(); known.answers(c.nc.ConnectedServerId(), time.Now()) {
		return known.value, known.err
	}

	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return "", errors.Wrap(ctx.Err(), "cannot wait for NATS to say which account this is")
	}

	server := c.nc.ConnectedServerId()
	if known := c.known(); known.answers(server, time.Now()) {
		return known.value, known.err
	}

	value, err := c.identify(ctx)

	// The connection may have moved to another server meanwhile, and a canceled request proves nothing.
	if server == c.nc.ConnectedServerId() && !errors.Is(err, context.Canceled) {
		c.mu.Lock()
		defer c.mu.Unlock()

		c.identity = identity{server: server, value: value, err: err, at: time.Now()}
	}

	return value, err
}

func (c *Conn) known() identity {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.identity
}

// identify asks NATS.
func (c *Conn) identify(ctx context.Context) (string, error) {
	account, err := c.account(ctx)
	if err != nil {
		return "", errors.Wrap(err, "cannot ask NATS which account this is")
	}

	if account == "" {
		return "", nil
	}

	value := strings.Join([]string{c.nc.ConnectedClusterName(), account}, "/")
	for _, part := range []string{c.address.Domain, c.address.Prefix} {
		if part != "" {
			value += "/" + part
		}
	}

	return value, nil
}

// account returns the account of the user that the connection logs in as, or
// nothing if NATS does not notify.
func (c *Conn) account(ctx context.Context) (string, error) {
	var answer struct {
		Data struct {
			Account string `json:"account"`
		} `json:"data"`
	}

	silent := false
	err := c.request(ctx, userInfo, func(ctx context.Context) error {
		msg, err := c.nc.RequestWithContext(ctx, userInfoSubject, nil)
		if errors.Is(err, nats.ErrNoResponders) || errors.Is(context.Cause(ctx), nats.ErrPermissionViolation) {
			silent = true

			return nil
		}

		if err != nil {
			return err
		}

		return errors.Wrap(json.Unmarshal(msg.Data, &answer), "cannot read the answer")
	})

	if silent {
		return "", nil
	}

	return answer.Data.Account, err
}
