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

// Input holds the settings of a connection to a cluster.
type Input struct {
	// RESTConfig has the endpoint of the cluster and the credentials. The caller must not change it afterwards.
	RESTConfig *rest.Config

	// Revision identifies these settings: two different inputs must have different revisions. It must not be empty.
	Revision Revision

	// ConnectedAt is the time of the connection. GetK8sClient returns this time. For all other methods it is for
	// information only.
	ConnectedAt metav1.MicroTime

	// Expires is the time at which the credentials expire. The zero time means that the time of expiry is unknown.
	Expires time.Time
}

// CacheOptions configures a Cache. The zero value selects the defaults.
type CacheOptions[C any] struct {
	// Close is called once for each connection that is no longer needed. It should return soon. The default does nothing.
	Close func(C)

	// Idle is the time after which an unused connection is closed. The default is ten minutes.
	Idle time.Duration

	// Timeout is the maximum time for making a connection. The default is 30 seconds.
	Timeout time.Duration

	// FailureThreshold is the number of consecutive failures after which a cluster is unhealthy. The default is four.
	FailureThreshold int

	// Clock determines when a connection is idle. The default is the real clock.
	Clock clock.PassiveClock

	// Logger logs restores of API servers. The default is the logger of controller-runtime.
	Logger logging.Logger
}

// A Cache makes one connection per cluster and revision when a user first asks for it, and shares the connection among
// all users. It implements Provider, Acquirer and Notifier. Make one with NewCache. All methods may be called
// concurrently.
type Cache[C any] struct {
	build       func(ctx context.Context, key Key, in Input) (C, error)
	connections *connection.Cache[C]
	threshold   int
	log         logging.Logger

	mu        sync.Mutex // guards the fields below; not held during calls that may call the cache
	lastEntry int        // number of entries stored so far
	entries   map[Key]*entry
	listeners map[*func(Key)]struct{}
}

// An entry holds the state of a cluster. After it is stored, only its health changes.
type entry struct {
	connectionKey string // key of its connection in the cache of connections, unique per entry
	input         Input
	err           error           // why there is no connection
	ctx           context.Context //nolint:containedctx // of all leases of the revision
	cancel        context.CancelCauseFunc
	health        Health

	restored *Restore // why the previous connection, which had the same revision, was replaced
}

// noRecheck is the recheck interval of connections. Set provides their revisions, so they need not be rechecked.
const noRecheck = 365 * 24 * time.Hour

// NewCache returns an empty cache that makes its connections with the function build. It calls build once for each
// cluster and revision, even if several callers acquire the connection concurrently. The context of a call of build
// ends when the call returns.
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
		connections: connection.New(o.Close, connection.WithIdleTime(o.Idle), connection.WithTimeout(o.Timeout),
			connection.WithClock(o.Clock), connection.WithRecheckInterval(noRecheck)),
		entries: map[Key]*entry{}, listeners: map[*func(Key)]struct{}{},
	}
}

// Set sets the input of the connection to a cluster. If the revision differs from the previous revision, Set ends all
// leases on the previous connection and returns true. Otherwise it changes nothing and returns false.
func (c *Cache[C]) Set(key Key, in Input) bool {
	return c.set(key, &entry{input: in}, ErrReplaced, (*entry).differs)
}

// set stores an entry if it differs from the stored entry. It then ends all leases on the previous connection with the
// given cause, and returns true.
func (c *Cache[C]) set(key Key, e *entry, cause error, differs func(old, now *entry) bool) bool {
	ctx, end := context.WithCancelCause(context.Background())
	e.ctx, e.cancel = ctx, end
	if !e.input.Expires.IsZero() {
		deadline, stop := context.WithDeadlineCause(ctx, e.input.Expires, ErrExpired)
		e.ctx, e.cancel = deadline, func(cause error) { end(cause); stop() }
	}
	if !c.put(key, e, cause, differs) {
		e.cancel(ErrReplaced)

		return false
	}
	context.AfterFunc(e.ctx, func() {
		if errors.Is(context.Cause(e.ctx), ErrExpired) {
			c.connections.Drop(e.connectionKey)
			c.notify(key)
		}
	})

	return true
}

// Fail records the reason why a cluster cannot be reached. It ends all leases on the connection to the cluster. From
// then on Get and Acquire return err.
func (c *Cache[C]) Fail(key Key, err error) {
	c.put(key, &entry{err: err, cancel: func(error) {}}, ErrReplaced, (*entry).differs)
}

// Drop removes a cluster, and ends all leases on the connection to it.
func (c *Cache[C]) Drop(key Key) { c.put(key, nil, ErrReplaced, (*entry).differs) }

// Known returns the last input that Set stored for a cluster. It returns false if there is none, or if Fail was called
// after Set.
func (c *Cache[C]) Known(key Key) (Input, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil || e.err != nil {
		return Input{}, false
	}

	return e.input, true
}

// put stores an entry if it differs from the stored entry, and removes the stored entry if now is nil. It reports
// whether it has changed anything.
func (c *Cache[C]) put(key Key, now *entry, cause error, differs func(old, now *entry) bool) bool {
	c.mu.Lock()
	old := c.entries[key]
	if !differs(old, now) {
		c.mu.Unlock()

		return false
	}
	if now == nil {
		delete(c.entries, key)
	} else {
		c.lastEntry++
		now.connectionKey = fmt.Sprint(key, "#", c.lastEntry)
		c.entries[key] = now
	}
	if old != nil {
		// Under the lock: otherwise the old revision could be set again, and a second
		// connection made, before the leases on this one end. Functions that wait for the
		// end of the context run in goroutines of their own.
		old.cancel(cause)
	}
	c.mu.Unlock()

	if old != nil {
		c.connections.Drop(old.connectionKey) // after the end of its leases, so that it is not built again
	}
	c.notify(key)

	return true
}

// differs reports whether two entries lead to different connections or errors.
func (e *entry) differs(now *entry) bool {
	switch {
	case e == nil || now == nil:
		return e != now
	case e.err != nil && now.err != nil:
		return e.err.Error() != now.err.Error()
	default:
		return e.err != nil || now.err != nil || e.input.Revision != now.input.Revision
	}
}

// Get returns the connection to a cluster for immediate use. The cache may close the connection when the connection is
// replaced, so call Acquire for longer use.
func (c *Cache[C]) Get(ctx context.Context, key Key) (C, Revision, error) {
	lease, err := c.Acquire(ctx, key)
	if err != nil {
		var none C

		return none, "", err
	}
	defer lease.Release()

	return lease.Client, lease.Revision, nil
}

// GetK8sClient is like Get, but returns Input.ConnectedAt instead of the revision. It is for package clientmanager.
func (c *Cache[C]) GetK8sClient(key Key) (C, metav1.MicroTime, error) {
	client, rev, err := c.Get(context.Background(), key)
	in, known := c.Known(key)
	if err == nil && (!known || in.Revision != rev) {
		err = ErrStale
	}

	return client, in.ConnectedAt, err
}

// Acquire returns a lease on the connection to a cluster. If there is no connection yet, Acquire makes it. The error is
// ErrNotFound, ErrExpired or the error that was passed to Fail. If the function that makes connections fails, the error
// of Acquire wraps the error of this function. Acquire then does not call the function again for five seconds.
func (c *Cache[C]) Acquire(ctx context.Context, key Key) (Lease[C], error) {
	for {
		e, err := c.usable(key)
		if err != nil {
			return Lease[C]{}, err
		}
		conn, err := c.connections.Acquire(ctx, e.connectionKey, string(e.input.Revision), c.resolver(key, e))
		replaced := e.ctx.Err() != nil
		if replaced && conn != nil {
			conn.Release()
		}
		switch {
		case errors.Is(err, connection.ErrClosed):
			return Lease[C]{}, err
		case replaced || errors.Is(err, connection.ErrDropped):
			c.connections.Drop(e.connectionKey) // it is not requested again
		case err != nil:
			return Lease[C]{}, errors.Wrapf(err, "cannot connect to cluster %s", key)
		default:
			return Lease[C]{Client: conn.Value(), Revision: e.input.Revision, Context: e.ctx, release: conn.Release}, nil
		}
	}
}

// usable returns the entry of a cluster that can be connected to.
func (c *Cache[C]) usable(key Key) (*entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	switch {
	case e == nil:
		return nil, ErrNotFound
	case e.err != nil:
		return nil, e.err
	case errors.Is(context.Cause(e.ctx), ErrExpired):
		return nil, ErrExpired
	default:
		return e, nil
	}
}

// resolver returns the Resolver of an entry for the cache of connections.
func (c *Cache[C]) resolver(key Key, e *entry) connection.Resolver[C] {
	return func(context.Context) (string, func(context.Context) (C, error), error) {
		return string(e.input.Revision), func(ctx context.Context) (C, error) {
			return c.build(ctx, key, c.restoreAware(key, e))
		}, context.Cause(e.ctx)
	}
}

// Listen calls the function changed each time the connection to a cluster was replaced, became available or was lost.
// The calls end when the returned function stop is called.
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

// notify calls the listeners.
func (c *Cache[C]) notify(key Key) {
	c.mu.Lock()
	listeners := make([]func(Key), 0, len(c.listeners))
	for l := range c.listeners {
		listeners = append(listeners, *l)
	}
	c.mu.Unlock()
	for _, changed := range listeners {
		changed(key)
	}
}

// Close ends all leases and closes all connections. A connection that is in use is closed when its users have released
// it. After Close, Acquire returns an error.
func (c *Cache[C]) Close() {
	c.mu.Lock()
	for _, e := range c.entries {
		e.cancel(ErrReplaced)
	}
	c.entries, c.listeners = map[Key]*entry{}, map[*func(Key)]struct{}{}
	c.mu.Unlock()
	c.connections.Close()
}
