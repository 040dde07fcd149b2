package connection

import (
	"context"
	"time"

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

	// waiting counts those who will take a lease when it lands, landed says that
	// they were given one. Both are guarded by the lock of the cache.
	waiting int
	landed  bool

	conn *connection[C]
	err  error
}

// lease returns what the flight brought. The lease was counted when it landed.
func (f *flight[C]) lease(c *Cache[C]) (*Lease[C], error) {
	if f.err != nil {
		return nil, f.err
	}

	return c.lease(f.conn), nil
}

// leave takes one who waits off the flight, too late if need be.
func (c *Cache[C]) leave(f *flight[C]) {
	c.mu.Lock()
	landed := f.landed
	if !landed {
		f.waiting--
	}
	c.mu.Unlock()

	if landed && f.err == nil {
		c.giveBack(f.conn)
	}
}

// start begins a flight; the lock is held. A caller's context ends with his pass,
// and must not end the work of the others.
func (c *Cache[C]) start(ctx context.Context, e *entry[C], version string, resolve Resolver[C], now time.Time) {
	if e.recheck {
		e.recheck, e.rechecked = false, now
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.o.timeout)
	e.flight = &flight[C]{version: version, cancel: cancel, done: make(chan struct{})}

	c.running.Add(1)
	go c.fly(ctx, e, e.flight, resolve)
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
	}
	err = e.judge(f.version, err, now, c.o.uncertainty)

	e.looked, e.version, e.checked, e.err = true, f.version, now, err
	e.flight = nil
	if err == nil {
		f.conn = e.current
		f.conn.leases += f.waiting
		f.conn.used = now
	}
	f.err, f.landed = err, true
	c.mu.Unlock()

	close(f.done)
	c.closeAll(unused)
}
