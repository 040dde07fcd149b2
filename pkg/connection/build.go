package connection

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// errAborted is the error of a build whose Resolver ended its goroutine.
var errAborted = errors.New("the goroutine that builds the connection has ended")

// build resolves the revision of a key, and builds a connection if it has changed, on
// behalf of all callers that wait for it.
type build[C any] struct {
	version string
	cancel  context.CancelFunc
	// done is closed when conn and err are set.
	done chan struct{}

	// waiting counts the callers that get a lease when the build finishes, deleting those
	// of them that acquire for a deletion. finished means that they have got it. All are
	// guarded by the lock of the cache.
	waiting, deleting int
	finished          bool

	// conn is set if err is nil. If it is set with an error, it is for deletions only.
	conn *connection[C]
	err  error

	// secrets are those read by the build.
	secrets *redact.Secrets
}

// addWaiters adds n to the number of callers that wait. The lock must be held.
func (b *build[C]) addWaiters(deletion bool, n int) {
	b.waiting += n
	if deletion {
		b.deleting += n
	}
}

// hasConnection reports whether the build has a connection for a caller, which acquires
// for a deletion or not.
func (b *build[C]) hasConnection(deletion bool) bool {
	return b.err == nil || deletion && b.conn != nil
}

// registerSecrets registers the secrets of a finished build for redaction in the pass of
// ctx.
func (b *build[C]) registerSecrets(ctx context.Context) { registerSecrets(ctx, b.secrets, b.conn) }

// registerSecrets registers the secrets of the last build, and those of the connection,
// if there is one, for redaction in the pass of ctx.
func registerSecrets[C any](ctx context.Context, last *redact.Secrets, conn *connection[C]) {
	last.Conceal(ctx)
	if conn != nil && conn.secrets != last {
		conn.secrets.Conceal(ctx)
	}
}

// lease returns the result of a finished build. finishBuild has counted the lease.
func (b *build[C]) lease(c *Cache[C], deletion bool) (*Lease[C], error) {
	if !b.hasConnection(deletion) {
		return nil, b.err
	}

	return c.lease(b.conn), nil
}

// cancelWait removes a caller that no longer waits for a build. If the build has finished
// meanwhile, its lease is released.
func (c *Cache[C]) cancelWait(b *build[C], deletion bool) {
	c.mu.Lock()
	finished := b.finished
	if !finished {
		b.addWaiters(deletion, -1)
	}
	c.mu.Unlock()

	if finished && b.hasConnection(deletion) {
		c.release(b.conn)
	}
}

// startBuild starts the build of an entry. The lock must be held. The context of the
// build does not end with that of the caller, because other callers may wait for it.
func (c *Cache[C]) startBuild(ctx context.Context, e *entry[C], r request[C], now time.Time) {
	if e.recheck {
		e.recheck, e.rechecked = false, now
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.timeout)
	e.build = &build[C]{version: r.version, cancel: cancel, done: make(chan struct{}), secrets: &redact.Secrets{}}
	ctx = redact.Collect(ctx, e.build.secrets)

	c.running.Add(1)
	go c.runBuild(ctx, e, e.build, r.resolve)
}

// runBuild resolves and builds, and finishes the build even after a panic: callers must
// not wait forever, and a panic in a goroutine would end the process.
func (c *Cache[C]) runBuild(ctx context.Context, e *entry[C], b *build[C], resolve Resolver[C]) {
	defer c.running.Done()
	defer b.cancel()

	var built *connection[C]
	err := errAborted
	defer func() {
		if p := recover(); p != nil {
			err = errors.Errorf("panic while connecting: %v", p)
		}
		c.finishBuild(e, b, built, err)
	}()

	built, err = c.renew(ctx, e, b, resolve)
}

// renew returns a new connection, or nil if the current one has the right revision.
// Otherwise the current one is retired before the new one is built: its settings are
// outdated, even if no connection with the new ones can be built. It builds none if the
// system has just rejected the revision.
func (c *Cache[C]) renew(
	ctx context.Context, e *entry[C], b *build[C], resolve Resolver[C],
) (*connection[C], error) {
	revision, connect, err := resolve(ctx)
	if err != nil {
		return nil, err
	}

	c.mu.Lock()
	if e.current != nil && e.current.revision == revision {
		c.mu.Unlock()

		return nil, nil
	}
	old := e.retire()
	refused := e.rejected.refuse(ctx, revision, c.o.clock.Now())
	c.mu.Unlock()
	c.closeAll(old)
	if refused != nil {
		return nil, refused
	}

	value, err := connect(ctx)
	c.mu.Lock()
	e.rejected.record(revision, err, b.secrets, c.o.clock.Now())
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}

	return &connection[C]{value: value, revision: revision}, nil
}

// finishBuild stores the result of a build, and leases the connection to all callers that
// wait.
func (c *Cache[C]) finishBuild(e *entry[C], b *build[C], built *connection[C], err error) {
	c.mu.Lock()
	now := c.o.clock.Now()
	if built != nil {
		built.secrets = b.secrets
		e.current = built
	}

	var unused []*connection[C]
	switch {
	case c.closed:
		err = ErrClosed
		unused = e.retire()
	case e.dropped:
		err = ErrDropped
		unused = e.retire()
	default:
		unused = c.updateRetention(e, b.version, err)
	}
	err = e.tolerateUnsure(b.version, err, now, c.o.uncertainty)

	e.resolved, e.version, e.resolvedAt, e.err, e.secrets = true, b.version, now, err, b.secrets
	e.build = nil
	b.leaseToWaiters(e, now)
	b.err, b.finished = err, true
	c.mu.Unlock()

	close(b.done)
	c.closeAll(unused)
}

// leaseToWaiters leases the connection to the callers that wait and may have it. The lock
// must be held.
func (b *build[C]) leaseToWaiters(e *entry[C], now time.Time) {
	leases := b.waiting
	if e.err != nil {
		leases = b.deleting
	}
	if e.err != nil && e.retained == nil {
		return
	}
	b.conn = e.current
	b.conn.leases += leases
	b.conn.used = now
}
