package connection

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// errUnfinished is what becomes of a Resolver that ended its goroutine.
var errUnfinished = errors.New("the connection was given up while it was built")

// flight is one look at the revision of a key, and the build that may follow, on
// behalf of all who wait for it.
type flight[C any] struct {
	version string
	cancel  context.CancelFunc
	// done is closed when conn and err are set.
	done chan struct{}

	// waiting counts those who will take a lease when it lands, deleting those of them
	// who do so for a deletion; landed says that they were given one. All are guarded by
	// the lock of the cache.
	waiting, deleting int
	landed            bool

	// conn is there without an error, or, for those who delete, with one.
	conn *connection[C]
	err  error

	// secrets are those that the look and the build have read.
	secrets *redact.Secrets
}

// join counts n more of those who wait; the lock is held.
func (f *flight[C]) join(deletion bool, n int) {
	f.waiting += n
	if deletion {
		f.deleting += n
	}
}

// brings tells whether the flight brought a connection, for a deletion or not.
func (f *flight[C]) brings(deletion bool) bool {
	return f.err == nil || deletion && f.conn != nil
}

// conceal tells the pass behind ctx the secrets of what the flight brought, which has landed.
func (f *flight[C]) conceal(ctx context.Context) { conceal(ctx, f.secrets, f.conn) }

// conceal tells the pass behind ctx the secrets of the last look, and those of the connection,
// if there is one.
func conceal[C any](ctx context.Context, looked *redact.Secrets, conn *connection[C]) {
	looked.Conceal(ctx)
	if conn != nil && conn.secrets != looked {
		conn.secrets.Conceal(ctx)
	}
}

// lease returns what the flight brought. The lease was counted when it landed.
func (f *flight[C]) lease(c *Cache[C], deletion bool) (*Lease[C], error) {
	if !f.brings(deletion) {
		return nil, f.err
	}

	return c.lease(f.conn), nil
}

// leave takes one who waits off the flight, too late if need be.
func (c *Cache[C]) leave(f *flight[C], deletion bool) {
	c.mu.Lock()
	landed := f.landed
	if !landed {
		f.join(deletion, -1)
	}
	c.mu.Unlock()

	if landed && f.brings(deletion) {
		c.giveBack(f.conn)
	}
}

// start begins a flight; the lock is held. A caller's context ends with his pass,
// and must not end the work of the others.
func (c *Cache[C]) start(ctx context.Context, e *entry[C], w want[C], now time.Time) {
	if e.recheck {
		e.recheck, e.rechecked = false, now
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.timeout)
	e.flight = &flight[C]{version: w.version, cancel: cancel, done: make(chan struct{}), secrets: &redact.Secrets{}}
	ctx = redact.Collect(ctx, e.flight.secrets)

	c.running.Add(1)
	go c.fly(ctx, e, e.flight, w.resolve)
}

// fly resolves and builds, and lands whatever happens: those who wait must not
// wait for ever, and a panic in a goroutine would end the whole program.
func (c *Cache[C]) fly(ctx context.Context, e *entry[C], f *flight[C], resolve Resolver[C]) {
	defer c.running.Done()
	defer f.cancel()

	var built *connection[C]
	err := errUnfinished
	defer func() {
		if p := recover(); p != nil {
			err = errors.Errorf("panic while connecting: %v", p)
		}
		c.land(e, f, built, err)
	}()

	built, err = c.renew(ctx, e, resolve)
}

// renew returns a new connection, or nil if the current one is of the right
// revision. The current one goes before the new one comes, because it has the
// wrong settings even if there is no way to have the right ones.
func (c *Cache[C]) renew(ctx context.Context, e *entry[C], resolve Resolver[C]) (*connection[C], error) {
	revision, build, err := resolve(ctx)
	if err != nil {
		return nil, err
	}

	c.mu.Lock()
	if e.current != nil && e.current.revision == revision {
		c.mu.Unlock()

		return nil, nil
	}
	old := e.retire()
	c.mu.Unlock()
	c.closeAll(old)

	value, err := build(ctx)
	if err != nil {
		return nil, err
	}

	return &connection[C]{value: value, revision: revision}, nil
}

// land records what came of a flight, and hands out a lease to each who waits.
func (c *Cache[C]) land(e *entry[C], f *flight[C], built *connection[C], err error) {
	c.mu.Lock()
	now := c.o.clock.Now()
	if built != nil {
		built.secrets = f.secrets
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
		unused = c.keep(e, f.version, err)
	}
	err = e.judge(f.version, err, now, c.o.uncertainty)

	e.looked, e.version, e.checked, e.err, e.secrets = true, f.version, now, err, f.secrets
	e.flight = nil
	f.give(e, now)
	f.err, f.landed = err, true
	c.mu.Unlock()

	close(f.done)
	c.closeAll(unused)
}

// give leases the connection to those who wait and may have it; the lock is held.
func (f *flight[C]) give(e *entry[C], now time.Time) {
	leases := f.waiting
	if e.err != nil {
		leases = f.deleting
	}
	if e.err != nil && e.kept == nil {
		return
	}
	f.conn = e.current
	f.conn.leases += leases
	f.conn.used = now
}
