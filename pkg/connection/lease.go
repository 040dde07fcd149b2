package connection

import "sync"

// Lease is the right to use a connection. The connection stays open until the lease is released, even if the cache
// has replaced it meanwhile. A lease may be used concurrently.
type Lease[C any] struct {
	conn    *connection[C]
	release func()
}

// Value returns the connection. The connection must not be used after Release.
func (l *Lease[C]) Value() C { return l.conn.value }

// Release ends the use of the connection. If the cache has replaced the connection and this was the last lease of the
// connection, Release closes the connection before it returns. Further calls do nothing.
func (l *Lease[C]) Release() { l.release() }

func (c *Cache[C]) lease(conn *connection[C]) *Lease[C] {
	return &Lease[C]{conn: conn, release: sync.OnceFunc(func() { c.release(conn) })}
}

func (c *Cache[C]) release(conn *connection[C]) {
	c.mu.Lock()
	conn.leases--
	conn.used = c.o.clock.Now()
	last := conn.retired && conn.leases == 0
	c.mu.Unlock()

	if last {
		c.close(conn.value)
	}
}
