package connection

import (
	"context"
	"sync"
	"time"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// ErrClosed is returned by Acquire after Close.
var ErrClosed = errors.New("the connections are closed")

// ErrDropped is returned by Acquire if Drop came while it waited.
var ErrDropped = errors.New("the connection was dropped while it was built")

// A Resolver finds out what a connection depends on: the revision of its
// settings, and a function that builds a connection with these settings. That
// function is called only if there is no connection of this revision. An error
// takes the connection from everybody, unless it is marked by Unsure or by Missing.
//
// Both run once on behalf of everyone who waits, so their context is not that of
// one caller, although it carries the values of the first one. It ends after the
// timeout, with Close, and when the connection was built: a connection must not
// depend on it. The secrets that they read with package credentials, or tell to
// external.Conceal, are masked by every pass that is given the connection, or their
// failure.
type Resolver[C any] func(ctx context.Context) (revision string, build func(ctx context.Context) (C, error), err error)

// A Cache holds connections of one type. The zero value is of no use: call New.
// It may be used concurrently.
type Cache[C any] struct {
	close func(C)
	o     options

	// running counts flights, for Close to wait for.
	running sync.WaitGroup

	mu      sync.Mutex
	entries map[string]*entry[C]
	swept   time.Time
	closed  bool
}

// entry is what is known of a key. Nothing but its flight changes its connection
// while there is one, Close excepted.
type entry[C any] struct {
	// current is the connection to hand out. There is none before the first
	// success, after it was idle, and after a newer one could not be built.
	current *connection[C]
	flight  *flight[C]
	// asked is when it was last asked for.
	asked time.Time

	// The last look: what for, when, its failure, and the secrets that it read.
	looked  bool
	version string
	checked time.Time
	err     error
	secrets *redact.Secrets
	// doubted is when the first look ended that could not tell whether current is
	// right, of those since one could. Zero means that there was none.
	doubted time.Time
	// kept is not nil while current is open only for those who delete, see Missing.
	kept *kept

	// recheck says that a look was asked for, rechecked when one was last granted.
	recheck   bool
	rechecked time.Time

	// dropped says that the entry is in no map any more: nobody may get what its
	// flight brings.
	dropped bool
}

// connection is one that was built. When it is retired, nobody gets a lease on it
// any more, and the last one to give it back closes it.
type connection[C any] struct {
	value    C
	revision string
	secrets  *redact.Secrets // that were read to build it
	leases   int
	retired  bool
	used     time.Time
}

// New returns an empty cache. It calls close once for each connection that it
// does not need any more, when all of its leases are released. That happens
// inside Acquire, Release or Close, so close should not take long.
func New[C any](close func(C), opts ...Option) *Cache[C] {
	o := defaults()
	for _, apply := range opts {
		apply(&o)
	}

	return &Cache[C]{close: close, o: o, entries: map[string]*entry[C]{}, swept: o.clock.Now()}
}

// Acquire returns a lease on the connection of the key. It resolves the revision
// if the version is not that of the last time, if that was longer ago than the
// recheck interval, or after Recheck; and builds a connection if the revision
// differs. However many call at once, that is done once.
//
// A failure is returned as resolve or build gave it, and again for a short while
// without another try, unless the version changes. Nobody gets a connection then:
// its credentials may have been withdrawn. But if resolve says that it is Unsure,
// and there is a connection that was right for this version, that is still handed
// out, for a bounded time (see WithUncertainty) in which every failure interval
// brings another try. And if it says that the settings are Missing, whoever asks with
// ForDeletion is still given the last connection that was right for this version.
//
// Whoever calls waits under a context of his own. If it ends, an error that wraps
// that of the context is returned, and the work goes on for the others. After Close the
// error is ErrClosed.
func (c *Cache[C]) Acquire(ctx context.Context, key, version string, resolve Resolver[C], opts ...AcquireOption) (*Lease[C], error) {
	w := want[C]{key: key, version: version, resolve: resolve, deletion: forDeletion(opts)}
	for {
		lease, f, err := c.take(ctx, w)
		if f == nil {
			return lease, err
		}

		// Who wants another version waits as well, and then looks again.
		joined := f.version == version
		select {
		case <-f.done:
			if joined {
				f.conceal(ctx)

				return f.lease(c, w.deletion)
			}
		case <-ctx.Done():
			if joined {
				c.leave(f, w.deletion)
			}

			return nil, errors.Wrap(ctx.Err(), "cannot wait for the connection")
		}
	}
}

// Recheck makes the next Acquire of the key resolve its revision again, for
// instance because the external system refused the credentials. If that was done
// a moment ago already (see WithFailureInterval) it waits until that time is over,
// so that a hundred objects that are refused are one look, not a hundred. An
// unknown key is ignored.
func (c *Cache[C]) Recheck(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if e, ok := c.entries[key]; ok {
		e.recheck = true
	}
}

// Drop forgets all about the key: its connection is closed as soon as nobody has a
// lease on it, and the next Acquire finds out everything anew. What is being built is
// ended, and whoever waits for it gets ErrDropped. An unknown key is ignored.
func (c *Cache[C]) Drop(key string) {
	c.mu.Lock()
	var unused []*connection[C]
	if e, ok := c.entries[key]; ok {
		e.dropped = true
		e.letGo()
		if e.flight != nil {
			e.flight.cancel()
		}
		unused = e.retire()
		delete(c.entries, key)
	}
	c.mu.Unlock()

	c.closeAll(unused)
}

// Close ends what is being built, waits for that, and closes all connections:
// those that are in use when they are given back. Further calls do nothing.
func (c *Cache[C]) Close() {
	c.mu.Lock()
	c.closed = true
	var unused []*connection[C]
	for key, e := range c.entries {
		e.letGo()
		if e.flight != nil {
			e.flight.cancel()
		}
		unused = append(unused, e.retire()...)
		delete(c.entries, key)
	}
	c.mu.Unlock()

	c.closeAll(unused)
	c.running.Wait()
}

// want is what somebody asks for.
type want[C any] struct {
	key, version string
	resolve      Resolver[C]
	deletion     bool
}

// take returns a lease or an error if the answer is known, otherwise the flight
// that will find out.
func (c *Cache[C]) take(ctx context.Context, w want[C]) (*Lease[C], *flight[C], error) {
	now := c.o.clock.Now()

	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()

		return nil, nil, ErrClosed
	}
	idle := c.sweep(now)
	conn, f, err := c.find(ctx, w, now)
	c.mu.Unlock()

	c.closeAll(idle)
	if conn == nil {
		return nil, f, err
	}

	return c.lease(conn), nil, nil
}

// find is the part of take that needs the lock. A connection that it returns is
// counted as leased.
func (c *Cache[C]) find(ctx context.Context, w want[C], now time.Time) (*connection[C], *flight[C], error) {
	e, ok := c.entries[w.key]
	if !ok {
		e = &entry[C]{}
		c.entries[w.key] = e
	}
	e.asked = now

	if e.flight == nil && e.fresh(w.version, now, c.o) {
		conceal(ctx, e.secrets, e.current)
		if e.err != nil && !(w.deletion && e.kept != nil) {
			return nil, nil, e.err
		}
		e.current.leases++

		return e.current, nil, nil
	}

	if e.flight == nil {
		c.start(ctx, e, w, now)
	}
	if e.flight.version == w.version {
		e.flight.join(w.deletion, 1)
	}

	return nil, e.flight, nil
}

// fresh reports whether the last look still answers for the version.
func (e *entry[C]) fresh(version string, now time.Time, o options) bool {
	switch {
	case !e.looked, e.version != version:
		return false
	case e.recheck && now.Sub(e.rechecked) >= o.failure:
		return false
	case e.err != nil:
		return now.Sub(e.checked) < o.failure
	case !e.doubted.IsZero():
		return e.current != nil && now.Sub(e.checked) < o.failure
	default:
		return e.current != nil && now.Sub(e.checked) < o.recheck
	}
}

// retire takes the connection out of use, and returns it if it can be closed now.
func (e *entry[C]) retire() []*connection[C] {
	conn := e.current
	if conn == nil {
		return nil
	}
	e.current = nil
	conn.retired = true
	if conn.leases > 0 {
		return nil
	}

	return []*connection[C]{conn}
}

// sweep takes what was not used for the idle time out of the cache, and returns
// the connections to close. It looks at all keys, so it does so rarely.
func (c *Cache[C]) sweep(now time.Time) []*connection[C] {
	if now.Sub(c.swept) < c.o.idle/10 {
		return nil
	}
	c.swept = now

	var idle []*connection[C]
	for key, e := range c.entries {
		if e.flight != nil || e.kept != nil {
			continue
		}
		if conn := e.current; conn != nil && conn.leases == 0 && now.Sub(conn.used) >= c.o.idle {
			idle = append(idle, e.retire()...)
		}
		if e.current == nil && now.Sub(e.asked) >= c.o.idle {
			delete(c.entries, key)
		}
	}

	return idle
}

func (c *Cache[C]) closeAll(conns []*connection[C]) {
	for _, conn := range conns {
		c.close(conn.value)
	}
}
