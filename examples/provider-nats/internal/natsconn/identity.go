package natsconn

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Every user may ask NATS who he is.
const (
	userInfo        = "REQ.USER.INFO"
	userInfoSubject = "$SYS." + userInfo
)

// An identity is what NATS was asked for, and which of its servers answered.
type identity struct{ server, value string }

// Identity returns which JetStream the connection leads to, whatever its address:
// the name of the cluster, the account, and the domain or prefix if there is one,
// with slashes between them. It is empty if NATS does not tell the account, because
// it is old or forbids the question. The answer is kept for as long as the
// connection stays with one server. Errors say that nobody knows at the moment.
func (c *Conn) Identity(ctx context.Context) (string, error) {
	server := c.nc.ConnectedServerId()

	c.mu.Lock()
	known := c.identity
	c.mu.Unlock()

	if known.server != "" && known.server == server {
		return known.value, nil
	}

	account, err := c.account(ctx)
	if err != nil {
		return "", errors.Wrap(err, "cannot ask NATS which account this is")
	}

	value := ""
	if account != "" {
		value = strings.Join([]string{c.nc.ConnectedClusterName(), account}, "/")
		for _, part := range []string{c.address.Domain, c.address.Prefix} {
			if part != "" {
				value += "/" + part
			}
		}
	}

	// Another server may have answered than was there before.
	if server == c.nc.ConnectedServerId() {
		c.mu.Lock()
		defer c.mu.Unlock()

		c.identity = identity{server, value}
	}

	return value, nil
}

// account returns the account of the user that the connection logs in as, or
// nothing if NATS does not tell.
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
