package connection

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Missing marks err, returned by a Resolver, as one that says that the settings are gone
// and that nothing has taken their place: the Secret does not exist. The connection is
// taken from everybody at once, but from those who ask for it with ForDeletion: a
// namespace that is deleted takes its Secrets first, and what is to be deleted outside
// could not be deleted any more. They keep the connection that was right for their
// version, if there is one. It is closed at once when the Resolver finds settings that
// differ, or fails in a way that is neither Missing nor Unsure.
//
// After the first recheck interval, one minute by default, in which objects may be deleted
// after their Secret, needed is asked each failure interval whether somebody who is being
// deleted still uses the connection. When it says no, the connection is closed. It may be
// called concurrently, and must not send requests, as it would do so for as long as an
// object cannot be deleted. Nil is a no. What was marked last counts.
//
// Do not mark a Secret that exists and lacks what is needed: that is how a user takes the
// credentials from everybody. The text stays that of err; nil stays nil.
func Missing(err error, needed func(ctx context.Context) bool) error {
	if err == nil {
		return nil
	}

	return &missing{err: err, needed: needed}
}

// IsMissing reports whether err or an error it wraps was marked by Missing.
func IsMissing(err error) bool {
	var m *missing

	return errors.As(err, &m)
}

type missing struct {
	err    error
	needed func(ctx context.Context) bool
}

func (m *missing) Error() string { return m.err.Error() }
func (m *missing) Unwrap() error { return m.err }

// An AcquireOption says what a connection is asked for.
type AcquireOption struct{ deletion bool }

// ForDeletion says whether the connection is for an object that is being deleted. Such an
// object is given the last good connection if its settings are Missing. The default is
// that it is not.
func ForDeletion(deleted bool) AcquireOption { return AcquireOption{deletion: deleted} }

func forDeletion(opts []AcquireOption) bool {
	return len(opts) > 0 && opts[len(opts)-1].deletion
}

// kept is why the current connection of an entry is still open, although its settings are
// missing: for those who delete. It is guarded by the lock of the cache.
type kept struct {
	needed func(ctx context.Context) bool
	cancel context.CancelFunc
}

// keep decides whether the current connection stays open for those who delete, after a
// look that ended with err; the lock is held. It returns what is to be closed.
func (c *Cache[C]) keep(e *entry[C], version string, err error) []*connection[C] {
	var gone *missing
	right := e.current != nil && e.looked && e.version == version
	switch {
	case err == nil:
		e.letGo()
	case errors.As(err, &gone) && right && e.kept != nil:
		e.kept.needed = gone.needed
	case errors.As(err, &gone) && right && e.err == nil:
		ctx, cancel := context.WithCancel(context.Background())
		k := &kept{needed: gone.needed, cancel: cancel}
		e.kept = k
		c.running.Go(func() { c.watch(ctx, e, k) })
	case e.kept != nil && !(IsUnsure(err) && right):
		e.letGo()

		return e.retire()
	}

	return nil
}

// letGo ends what keep began; the lock is held.
func (e *entry[C]) letGo() {
	if e.kept != nil {
		e.kept.cancel()
		e.kept = nil
	}
}

// watch closes a connection that is kept when nobody needs it any more.
func (c *Cache[C]) watch(ctx context.Context, e *entry[C], k *kept) {
	timer := time.NewTimer(c.o.recheck)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if !c.needs(ctx, k) && c.forgo(e, k) {
			return
		}
		timer.Reset(c.o.failure)
	}
}

// needs asks whether a connection that is kept is needed. A panic in a goroutine would end
// the whole program: it is a no.
func (c *Cache[C]) needs(ctx context.Context, k *kept) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	c.mu.Lock()
	needed := k.needed
	c.mu.Unlock()

	return needed != nil && needed(ctx)
}

// forgo closes the connection that is kept, unless somebody looks at its settings now.
func (c *Cache[C]) forgo(e *entry[C], k *kept) bool {
	c.mu.Lock()
	if e.kept != k || e.flight != nil {
		c.mu.Unlock()

		return false
	}
	e.letGo()
	unused := e.retire()
	c.mu.Unlock()
	c.closeAll(unused)

	return true
}
