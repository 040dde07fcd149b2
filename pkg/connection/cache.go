package connection

import (
	"context"
	"sync"
	"time"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// ErrClosed is the error of Acquire after Close.
var ErrClosed = errors.New("the connections are closed")

// ErrDropped is the error of Acquire if Drop was called while Acquire waited.
var ErrDropped = errors.New("the connection was dropped while it was built")

// Resolver returns the revision of the settings of a connection, and a function that builds a connection with these
// settings. The cache calls the function only if it has no connection of this revision. After an error the cache
// returns no connection, unless the error is marked by Unsure or by Missing.
//
// If the build fails because the system rejects the credentials (external.Unauthorized), the cache builds this revision
// again only after ten seconds, then twice as long each time, and at most five minutes: a wrong password that is sent
// too often locks the account. Meanwhile Acquire returns the same error. The revision is still resolved as often as
// after any error, and another revision is built at once.
//
// Both functions run once on behalf of all callers that wait. Their context has the values of the first caller's
// context. It ends after the timeout, with Close, and when the connection is built. So a connection must not depend on
// that context.
//
// Every pass that gets the connection or the error redacts the secrets that the functions read with package
// credentials or pass to external.Conceal.
type Resolver[C any] func(ctx context.Context) (revision string, build func(ctx context.Context) (C, error), err error)

// Cache holds connections of one type. It must be created by New, and may be used concurrently.
type Cache[C any] struct {
	close func(C)
	o     options

	// running counts goroutines, for Close to wait for.
	running sync.WaitGroup

	mu        sync.Mutex
	entries   map[string]*entry[C]
	lastSweep time.Time
	closed    bool
}

// entry is the state of a key. While it has a build, only that, Drop and Close change its
// connection.
type entry[C any] struct {
	// current is the connection to hand out. It is nil before the first success, after it
	// was idle, and if its revision is outdated and a new one could not be built.
	current      *connection[C]
	build        *build[C]
	lastAcquired time.Time

	// The result of the last build: its version, time, error, and the secrets it read.
	resolved   bool
	version    string
	resolvedAt time.Time
	err        error
	secrets    *redact.Secrets
	rejected   rejection
	// unsureSince is when the first of the latest consecutive Unsure builds ended. It is
	// zero if the last build was not Unsure.
	unsureSince time.Time
	// retained is not nil while current is open for deletions only, see Missing.
	retained *retention

	// recheck means that Recheck was called since rechecked, which is the time of the last
	// build that it caused.
	recheck   bool
	rechecked time.Time

	// dropped means that the entry was removed from the cache: the result of its build
	// must not be used.
	dropped bool
}

// connection is a connection that was built. Once it is retired, no more leases are given
// out, and the release of the last one closes it.
type connection[C any] struct {
	value    C
	revision string
	secrets  *redact.Secrets // read to build it
	leases   int
	retired  bool
	used     time.Time
}

// New returns an empty cache. The cache calls close once for each connection that is no longer needed, when all leases
// of the connection are released. The cache calls close inside Acquire, Release, Drop or Close, so the function should
// not take long.
func New[C any](close func(C), opts ...Option) *Cache[C] {
	o := defaults()
	for _, apply := range opts {
		apply(&o)
	}

	return &Cache[C]{close: close, o: o, entries: map[string]*entry[C]{}, lastSweep: o.clock.Now()}
}

// Acquire returns a lease on the connection of the key. It resolves the revision if the version differs from the
// version of the last call, if the recheck interval has passed, or after Recheck. It builds a connection if the
// revision has changed. Concurrent calls share one build.
//
// Errors of resolve and build are returned unchanged. They are cached for the failure interval, unless the version
// changes. An error about rejected credentials is cached for longer, see Resolver. Meanwhile Acquire returns no
// connection, because the credentials may have been revoked. There are two
// exceptions:
//
//   - After an error marked by Unsure, Acquire still returns the last connection of this version, for a limited time
//     (see WithUncertainty). It resolves the revision again after each failure interval.
//   - After an error marked by Missing, callers that pass the option ForDeletion(true) still get the last connection of
//     this version.
//
// If ctx ends while Acquire waits, the error wraps the error of the context, and the build continues for other
// callers. After Close the error is ErrClosed.
func (c *Cache[C]) Acquire(
	ctx context.Context, key, version string, resolve Resolver[C], opts ...AcquireOption,
) (*Lease[C], error) {
	r := request[C]{key: key, version: version, resolve: resolve, deletion: forDeletion(opts)}
	for {
		lease, b, err := c.acquire(ctx, r)
		if b == nil {
			return lease, err
		}

		// A build of another version is only waited for, then its result is ignored.
		joined := b.version == version
		select {
		case <-b.done:
			if joined {
				b.registerSecrets(ctx)

				return b.lease(c, r.deletion)
			}
		case <-ctx.Done():
			if joined {
				c.cancelWait(b, r.deletion)
			}

			return nil, errors.Wrap(ctx.Err(), "cannot wait for the connection")
		}
	}
}

// Recheck makes the next Acquire of the key resolve its revision. Call it for instance when the external system
// rejects the credentials. It has an effect at most once per failure interval (see WithFailureInterval), so a hundred
// rejected objects cause one build. An unknown key is ignored.
func (c *Cache[C]) Recheck(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if e, ok := c.entries[key]; ok {
		e.recheck = true
	}
}

// Drop removes the key. Its connection is closed when the last lease is released, and the next Acquire builds a new
// connection. Drop cancels a build in progress, and callers that wait for it get ErrDropped. An unknown key is
// ignored.
func (c *Cache[C]) Drop(key string) {
	c.mu.Lock()
	var unused []*connection[C]
	if e, ok := c.entries[key]; ok {
		e.dropped = true
		e.endRetention()
		if e.build != nil {
			e.build.cancel()
		}
		unused = e.retire()
		delete(c.entries, key)
	}
	c.mu.Unlock()

	c.closeAll(unused)
}

// Close cancels all builds, waits until they have ended, and closes all connections. A connection in use is closed
// when its last lease is released. Further calls do nothing.
func (c *Cache[C]) Close() {
	c.mu.Lock()
	c.closed = true
	var unused []*connection[C]
	for key, e := range c.entries {
		e.endRetention()
		if e.build != nil {
			e.build.cancel()
		}
		unused = append(unused, e.retire()...)
		delete(c.entries, key)
	}
	c.mu.Unlock()

	c.closeAll(unused)
	c.running.Wait()
}

// request has the arguments of a call of Acquire.
type request[C any] struct {
	key, version string
	resolve      Resolver[C]
	deletion     bool
}

// acquire returns the cached lease or error, or the build to wait for.
func (c *Cache[C]) acquire(ctx context.Context, r request[C]) (*Lease[C], *build[C], error) {
	now := c.o.clock.Now()

	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()

		return nil, nil, ErrClosed
	}
	idle := c.sweep(now)
	conn, b, err := c.lookup(ctx, r, now)
	c.mu.Unlock()

	c.closeAll(idle)
	if conn == nil {
		return nil, b, err
	}

	return c.lease(conn), nil, nil
}

// lookup is the part of acquire that needs the lock. It counts a lease for the connection
// that it returns.
func (c *Cache[C]) lookup(ctx context.Context, r request[C], now time.Time) (*connection[C], *build[C], error) {
	e, ok := c.entries[r.key]
	if !ok {
		e = &entry[C]{}
		c.entries[r.key] = e
	}
	e.lastAcquired = now

	if e.build == nil && e.isFresh(r.version, now, c.o) {
		registerSecrets(ctx, e.secrets, e.current)
		if e.err != nil && !(r.deletion && e.retained != nil) {
			return nil, nil, e.err
		}
		e.current.leases++

		return e.current, nil, nil
	}

	if e.build == nil {
		c.startBuild(ctx, e, r, now)
	}
	if e.build.version == r.version {
		e.build.addWaiters(r.deletion, 1)
	}

	return nil, e.build, nil
}

// isFresh reports whether the result of the last build is still valid for the version.
func (e *entry[C]) isFresh(version string, now time.Time, o options) bool {
	switch {
	case !e.resolved, e.version != version:
		return false
	case e.recheck && now.Sub(e.rechecked) >= o.failure:
		return false
	case e.err != nil:
		return now.Sub(e.resolvedAt) < o.failure
	case !e.unsureSince.IsZero():
		return e.current != nil && now.Sub(e.resolvedAt) < o.failure
	default:
		return e.current != nil && now.Sub(e.resolvedAt) < o.recheck
	}
}

// retire removes the current connection, and returns it if it can be closed now.
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

// sweep removes connections and entries that were unused for the idle time, and returns
// the connections to close. It visits all keys, therefore rarely.
func (c *Cache[C]) sweep(now time.Time) []*connection[C] {
	if now.Sub(c.lastSweep) < c.o.idle/10 {
		return nil
	}
	c.lastSweep = now

	var idle []*connection[C]
	for key, e := range c.entries {
		if e.build != nil || e.retained != nil {
			continue
		}
		if conn := e.current; conn != nil && conn.leases == 0 && now.Sub(conn.used) >= c.o.idle {
			idle = append(idle, e.retire()...)
		}
		if e.current == nil && now.Sub(e.lastAcquired) >= c.o.idle {
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
