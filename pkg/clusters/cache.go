package clusters

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/pkg/connection"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// Input is what a connection is made of.
type Input struct {
	// RESTConfig says where the cluster is, and who we are there. It must not be
	// changed any more.
	RESTConfig *rest.Config

	// Revision changes whenever anything else here does. It must not be empty.
	Revision Revision

	// ConnectedAt is for people to read.
	ConnectedAt metav1.MicroTime

	// Expires is when the credentials do. Zero means that this is not known.
	Expires time.Time
}

// CacheOptions of a Cache of connections. The zero value is good.
type CacheOptions[C any] struct {
	// Close is called once for each connection that nobody needs any more. It should
	// not take long. By default nothing is done.
	Close func(C)

	// Idle is how long a connection is kept that nobody uses, ten minutes by default.
	Idle time.Duration

	// Timeout is how long making a connection may take, 30 seconds by default.
	Timeout time.Duration

	// FailureThreshold is how many reports of a failure in a row make a cluster
	// unhealthy, four by default.
	FailureThreshold int

	// Clock says when a connection is idle. By default that is the machine's.
	Clock clock.PassiveClock

	// Logger is told when an API server was restored. By default that is
	// controller-runtime's.
	Logger logging.Logger
}

// A Cache makes one connection per cluster and revision, when it is first asked for,
// and hands it out to everybody. It is a Provider, an Acquirer and a Notifier. Make
// one with NewCache; all methods may be called concurrently.
type Cache[C any] struct {
	build     func(ctx context.Context, key Key, in Input) (C, error)
	conns     *connection.Cache[C]
	threshold int
	log       logging.Logger

	mu        sync.Mutex // guards what follows; never held while anything is called that may call back
	stored    int        // how often something was stored in known
	known     map[Key]*known
	listeners map[*func(Key)]struct{}
}

// known is what is known of a cluster. Only health changes once it was stored.
type known struct {
	conn   string // the key of its connection, which it shares with nothing that was known before
	in     Input
	err    error           // why there is no connection
	ctx    context.Context //nolint:containedctx // of all leases of the revision
	end    context.CancelCauseFunc
	health Health

	restored *Restore // why the connection before, which had the same revision, was replaced
}

// unchecked is the recheck interval of connections whose revision is told, not asked for.
const unchecked = 365 * 24 * time.Hour

// NewCache returns an empty cache, whose connections are made by build: once for each
// cluster and revision, however many ask at once, under a context that ends when the
// connection is made.
func NewCache[C any](build func(ctx context.Context, key Key, in Input) (C, error), o CacheOptions[C]) *Cache[C] {
	if o.Close == nil {
		o.Close = func(C) {}
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.FailureThreshold <= 0 {
		o.FailureThreshold = 4
	}
	if o.Logger == nil {
		o.Logger = logging.NewLogrLogger(ctrllog.Log.WithName("clusters"))
	}

	return &Cache[C]{
		build: build, threshold: o.FailureThreshold, log: o.Logger,
		conns: connection.New(o.Close, connection.WithIdleTime(o.Idle), connection.WithTimeout(o.Timeout),
			connection.WithClock(o.Clock), connection.WithRecheckInterval(unchecked)),
		known: map[Key]*known{}, listeners: map[*func(Key)]struct{}{},
	}
}

// Set says how a cluster is reached. If the revision is another one than before, all
// leases on the one before end; if it is not, nothing happens, and Set returns false.
func (c *Cache[C]) Set(key Key, in Input) bool {
	return c.set(key, &known{in: in}, ErrReplaced, (*known).differs)
}

// set stores how a cluster is reached, if that is something else than before: then all
// leases on the one before end because of that cause. It reports whether it did.
func (c *Cache[C]) set(key Key, k *known, cause error, differs func(old, now *known) bool) bool {
	ctx, end := context.WithCancelCause(context.Background())
	k.ctx, k.end = ctx, end
	if !k.in.Expires.IsZero() {
		deadline, stop := context.WithDeadlineCause(ctx, k.in.Expires, ErrExpired)
		k.ctx, k.end = deadline, func(cause error) { end(cause); stop() }
	}
	if !c.put(key, k, cause, differs) {
		k.end(ErrReplaced)

		return false
	}
	context.AfterFunc(k.ctx, func() {
		if errors.Is(context.Cause(k.ctx), ErrExpired) {
			c.conns.Drop(k.conn)
			c.tell(key)
		}
	})

	return true
}

// Fail says why a cluster that is known cannot be reached: that is what Get returns
// from now on. All leases end.
func (c *Cache[C]) Fail(key Key, err error) {
	c.put(key, &known{err: err, end: func(error) {}}, ErrReplaced, (*known).differs)
}

// Drop forgets a cluster. All leases end.
func (c *Cache[C]) Drop(key Key) { c.put(key, nil, ErrReplaced, (*known).differs) }

// Known says what was set last for a cluster, if it can be reached.
func (c *Cache[C]) Known(key Key) (Input, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[key]
	if k == nil || k.err != nil {
		return Input{}, false
	}

	return k.in, true
}

// put stores what is known of a cluster, nil for nothing, if that differs from before. It
// reports whether it did.
func (c *Cache[C]) put(key Key, now *known, cause error, differs func(old, now *known) bool) bool {
	c.mu.Lock()
	old := c.known[key]
	if !differs(old, now) {
		c.mu.Unlock()

		return false
	}
	if now == nil {
		delete(c.known, key)
	} else {
		c.stored++
		now.conn = fmt.Sprint(key, "#", c.stored)
		c.known[key] = now
	}
	if old != nil {
		// Now, so that nobody sets the old revision again, and is given another connection,
		// while the leases on this one go on: their holders would not be told. What waits for the end
		// of a context runs in goroutines of its own.
		old.end(cause)
	}
	c.mu.Unlock()

	if old != nil {
		c.conns.Drop(old.conn) // after its leases have ended, so that nobody builds it again
	}
	c.tell(key)

	return true
}

// differs reports whether anything differs that matters.
func (k *known) differs(now *known) bool {
	switch {
	case k == nil || now == nil:
		return k != now
	case k.err != nil && now.err != nil:
		return k.err.Error() != now.err.Error()
	default:
		return k.err != nil || now.err != nil || k.in.Revision != now.in.Revision
	}
}

// Get returns the connection to a cluster. Whoever uses it for longer than a moment
// takes a lease with Acquire instead: this one may be closed when it is replaced.
func (c *Cache[C]) Get(ctx context.Context, key Key) (C, Revision, error) {
	lease, err := c.Acquire(ctx, key)
	if err != nil {
		var none C

		return none, "", err
	}
	defer lease.Release()

	return lease.Client, lease.Revision, nil
}

// GetK8sClient is Get for package clientmanager: with the time of Input.ConnectedAt in
// place of a revision.
func (c *Cache[C]) GetK8sClient(key Key) (C, metav1.MicroTime, error) {
	client, rev, err := c.Get(context.Background(), key)
	in, known := c.Known(key)
	if err == nil && (!known || in.Revision != rev) {
		err = ErrStale
	}

	return client, in.ConnectedAt, err
}

// Acquire returns a lease on the connection to a cluster, and makes the connection if
// there is none yet. The error is ErrNotFound, ErrExpired, what Fail was given, or
// wraps that of build, which is not tried again for five seconds.
func (c *Cache[C]) Acquire(ctx context.Context, key Key) (Lease[C], error) {
	for {
		k, err := c.usable(key)
		if err != nil {
			return Lease[C]{}, err
		}
		held, err := c.conns.Acquire(ctx, k.conn, string(k.in.Revision), c.resolver(key, k))
		replaced := k.ctx.Err() != nil
		if replaced && held != nil {
			held.Release()
		}
		switch {
		case errors.Is(err, connection.ErrClosed):
			return Lease[C]{}, err
		case replaced || errors.Is(err, connection.ErrDropped):
			c.conns.Drop(k.conn) // nobody asks for it again
		case err != nil:
			return Lease[C]{}, errors.Wrapf(err, "cannot connect to cluster %s", key)
		default:
			return Lease[C]{Client: held.Value(), Revision: k.in.Revision, Context: k.ctx, release: held.Release}, nil
		}
	}
}

// usable returns what is known of a cluster that can be connected to.
func (c *Cache[C]) usable(key Key) (*known, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[key]
	switch {
	case k == nil:
		return nil, ErrNotFound
	case k.err != nil:
		return nil, k.err
	case errors.Is(context.Cause(k.ctx), ErrExpired):
		return nil, ErrExpired
	default:
		return k, nil
	}
}

func (c *Cache[C]) resolver(key Key, k *known) connection.Resolver[C] {
	return func(context.Context) (string, func(context.Context) (C, error), error) {
		return string(k.in.Revision), func(ctx context.Context) (C, error) { return c.build(ctx, key, c.restorable(key, k)) }, context.Cause(k.ctx)
	}
}

// Listen lets changed be called whenever a cluster can be reached in another way than
// before, or not any more, until stop is called.
func (c *Cache[C]) Listen(changed func(Key)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners[&changed] = struct{}{}

	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, &changed)
	}
}

func (c *Cache[C]) tell(key Key) {
	c.mu.Lock()
	told := make([]func(Key), 0, len(c.listeners))
	for l := range c.listeners {
		told = append(told, *l)
	}
	c.mu.Unlock()
	for _, changed := range told {
		changed(key)
	}
}

// Close ends all leases and closes all connections, those that are in use when they
// are given back. Nothing can be acquired after that.
func (c *Cache[C]) Close() {
	c.mu.Lock()
	for _, k := range c.known {
		k.end(ErrReplaced)
	}
	c.known, c.listeners = map[Key]*known{}, map[*func(Key)]struct{}{}
	c.mu.Unlock()
	c.conns.Close()
}
