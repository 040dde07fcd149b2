package natsconn

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/moorage-dev/moorage/pkg/errors"
)

const (
	// clientName is the name of the provider's connections in the lists of NATS.
	clientName = "provider-nats"

	// dialTimeout bounds the attempts on all servers together.
	dialTimeout = 5 * time.Second

	// requestTimeout bounds one request to JetStream.
	requestTimeout = 5 * time.Second

	reconnectWait = time.Second
)

// A Conn is a connection to the JetStream of one account. It reconnects until it is closed. All methods may
// be called concurrently. Use Dial.
type Conn struct {
	nc  *nats.Conn
	js  jetstream.JetStream
	api string // the prefix of the subjects of its requests

	address  Address
	revision string
	asking   chan struct{} // is full while the identity is requested

	mu       sync.Mutex
	ends     []func()
	waiting  map[*waiter]struct{}
	watchers map[*watcher]struct{}
	identity identity
}

// A waiter is a request that has no answer yet.
type waiter struct {
	operation string
	cancel    context.CancelCauseFunc
}

// Dial connects within five seconds, or less if ctx ends before. Its errors say what a user has to correct.
// Each time NATS refuses the credentials afterwards, unauthorized is called, if it is not nil, from a
// goroutine of the connection.
func Dial(ctx context.Context, s Settings, unauthorized func()) (*Conn, error) {
	if len(s.servers) == 0 {
		return nil, errors.New("spec.servers is empty: name at least one server")
	}

	c := &Conn{
		api:      api(s),
		address:  Address{Servers: s.servers, Domain: s.domain, Prefix: s.prefix},
		revision: s.Revision,
		asking:   make(chan struct{}, 1),
		waiting:  map[*waiter]struct{}{},
		watchers: map[*watcher]struct{}{},
	}

	nc, err := connect(ctx, s, c.handle(unauthorized), c.notify)
	if err != nil {
		return nil, explainDial(err, s.servers)
	}

	c.nc = nc
	if c.js, err = newJetStream(nc, s); err != nil {
		nc.Close()

		return nil, errors.Wrap(err, "cannot use JetStream as spec.domain or spec.jsPrefix says")
	}

	return c, nil
}

func newJetStream(nc *nats.Conn, s Settings) (jetstream.JetStream, error) {
	switch {
	case s.domain != "":
		return jetstream.NewWithDomain(nc, s.domain)
	case s.prefix != "":
		return jetstream.NewWithAPIPrefix(nc, s.prefix)
	default:
		return jetstream.New(nc)
	}
}

// connect ends with its context, of which the client of NATS does not know: a connection that is
// established too late is closed.
func connect(ctx context.Context, s Settings, handle nats.ErrHandler, notify func(connected bool)) (*nats.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()

	opts := nats.GetDefaultOptions()
	opts.Servers = s.servers
	opts.Name = clientName
	opts.Timeout = dialTimeout / time.Duration(len(s.servers))
	opts.MaxReconnect = -1
	opts.ReconnectWait = reconnectWait
	opts.IgnoreAuthErrorAbort = true
	// A buffered request would be sent when its caller has given up, and would do what is no longer desired.
	opts.ReconnectBufSize = -1
	opts.AsyncErrorCB = handle
	opts.DisconnectedErrCB = func(*nats.Conn, error) { notify(false) }
	opts.ReconnectedCB = func(*nats.Conn) { notify(true) }

	for _, option := range s.options {
		if err := option(&opts); err != nil {
			return nil, errors.Wrap(err, "cannot use an option of the connection")
		}
	}

	type result struct {
		nc  *nats.Conn
		err error
	}

	done := make(chan result)

	go func() {
		nc, err := opts.Connect()

		select {
		case done <- result{nc, err}:
		case <-ctx.Done():
			if err == nil {
				nc.Close()
			}
		}
	}()

	select {
	case r := <-done:
		return r.nc, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// handle returns the handler of asynchronous errors of NATS.
func (c *Conn) handle(unauthorized func()) nats.ErrHandler {
	return func(_ *nats.Conn, sub *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			c.deny(err)
		}

		c.reportLoss(sub, err)

		if isUnauthorized(err) && unauthorized != nil {
			unauthorized()
		}
	}
}

// An Address is the address of a JetStream. It contains no credentials.
type Address struct {
	// Servers are the URLs that were configured.
	Servers []string

	// Domain and Prefix are those of JetStream, if they are not the default.
	Domain, Prefix string
}

// Address returns the address that the connection leads to.
func (c *Conn) Address() Address { return c.address }

// Revision returns that of the settings.
func (c *Conn) Revision() string { return c.revision }

// AtEnd calls end when the connection is closed.
func (c *Conn) AtEnd(end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.ends = append(c.ends, end)
}

// Close ends the connection.
func (c *Conn) Close() {
	c.nc.Close()

	c.mu.Lock()
	ends := c.ends
	c.ends = nil
	c.mu.Unlock()

	for _, end := range ends {
		end()
	}
}

// Info returns the configuration and state of a stream. The error is
// jetstream.ErrStreamNotFound if NATS says that there is none.
func (c *Conn) Info(ctx context.Context, name string) (*jetstream.StreamInfo, error) {
	var info *jetstream.StreamInfo

	err := c.request(ctx, "STREAM.INFO."+name, func(ctx context.Context) error {
		s, err := c.js.Stream(ctx, name)
		if err == nil {
			info = s.CachedInfo()
		}

		return err
	})

	return info, err
}

// Create creates a stream. The error is jetstream.ErrStreamNameAlreadyInUse if
// one of that name exists and differs in any way.
func (c *Conn) Create(ctx context.Context, cfg jetstream.StreamConfig) error {
	done := c.expect(created, cfg.Name)
	err := c.request(ctx, "STREAM.CREATE."+cfg.Name, func(ctx context.Context) error {
		_, err := c.js.CreateStream(ctx, cfg)

		return err
	})

	done(err)

	return err
}

// Update replaces the configuration of a stream. The error is
// jetstream.ErrStreamNotFound if NATS says that there is none.
func (c *Conn) Update(ctx context.Context, cfg jetstream.StreamConfig) error {
	done := c.expect(updated, cfg.Name)
	err := c.request(ctx, "STREAM.UPDATE."+cfg.Name, func(ctx context.Context) error {
		_, err := c.js.UpdateStream(ctx, cfg)

		return err
	})

	done(err)

	return err
}

// Delete deletes a stream with all its messages. The error is
// jetstream.ErrStreamNotFound if NATS says that there is none.
func (c *Conn) Delete(ctx context.Context, name string) error {
	done := c.expect(deleted, name)
	err := c.request(ctx, "STREAM.DELETE."+name, func(ctx context.Context) error {
		return c.js.DeleteStream(ctx, name)
	})

	done(err)

	return err
}

// request makes one request and explains its error. Without a connection it
// fails at once.
func (c *Conn) request(ctx context.Context, operation string, call func(context.Context) error) error {
	if !c.nc.IsConnected() {
		return explainDisconnected(c.nc.LastError(), c.nc.Servers())
	}

	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	ctx, done := c.wait(ctx, operation)
	defer done()

	err := call(ctx)
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return explainDisconnected(c.nc.LastError(), c.nc.Servers())
	}

	return explain(operation, err, context.Cause(ctx))
}

// wait returns a context that ends early if NATS forbids the operation. NATS reports that separately: the
// request itself is never answered.
func (c *Conn) wait(ctx context.Context, operation string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &waiter{operation: operation, cancel: cancel}

	c.mu.Lock()
	defer c.mu.Unlock()

	c.waiting[w] = struct{}{}

	return ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()

		delete(c.waiting, w)
		cancel(nil)
	}
}

// deny ends all requests that wait for an operation that NATS has forbidden by err.
func (c *Conn) deny(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	for w := range c.waiting {
		if strings.Contains(err.Error(), "."+w.operation+`"`) {
			w.cancel(err)
		}
	}
}
