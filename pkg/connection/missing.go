package connection

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
)

// Missing marks an error of a Resolver as the response that the settings do not exist, for example because a Secret was
// deleted. Acquire then returns the connection only to callers that pass the option ForDeletion(true). The reason is
// that the deletion of a namespace may remove its Secrets first, while its external resources still have to be deleted.
// Do not mark the error if the Secret exists and lacks a key, because a user revokes credentials in that way.
//
// Callers that pass ForDeletion(true) get the last connection of their version, if there is one. The cache closes it at
// once when the Resolver returns other settings, or an error that is neither Missing nor Unsure.
//
// The connection is kept for at least a recheck interval (by default one minute), because objects may be deleted after
// their Secret. After that the cache calls needed once per failure interval, and closes the connection when needed
// returns false. The function needed reports whether an object that is being deleted still uses the connection. It may
// be called concurrently. It must not send requests, because it is called for as long as an object cannot be deleted. A
// nil function counts as false. If there are several marked errors, the function of the last error is used.
//
// The text of the result is the text of err. For nil it returns nil.
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

// AcquireOption configures a call of Acquire.
type AcquireOption struct{ deletion bool }

// ForDeletion sets whether the connection is for an object that is being deleted. Such an object gets the last valid
// connection after an error marked by Missing. The default is false.
func ForDeletion(deleted bool) AcquireOption { return AcquireOption{deletion: deleted} }

func forDeletion(opts []AcquireOption) bool {
	return len(opts) > 0 && opts[len(opts)-1].deletion
}

// retention keeps the current connection of an entry open for deletions, although its
// settings are missing. It is guarded by the lock of the cache.
type retention struct {
	needed func(ctx context.Context) bool
	cancel context.CancelFunc
}

// updateRetention starts, updates or ends the retention of the current connection, after a
// build that ended with err. The lock must be held. It returns the connections to close.
func (c *Cache[C]) updateRetention(e *entry[C], version string, err error) []*connection[C] {
	var gone *missing
	valid := e.current != nil && e.resolved && e.version == version
	switch {
	case err == nil:
		e.endRetention()
	case errors.As(err, &gone) && valid && e.retained != nil:
		e.retained.needed = gone.needed
	case errors.As(err, &gone) && valid && e.err == nil:
		ctx, cancel := context.WithCancel(context.Background())
		r := &retention{needed: gone.needed, cancel: cancel}
		e.retained = r
		c.running.Go(func() { c.watchRetention(ctx, e, r) })
	case e.retained != nil && !(IsUnsure(err) && valid):
		e.endRetention()

		return e.retire()
	}

	return nil
}

// endRetention ends the retention, if there is one. The lock must be held.
func (e *entry[C]) endRetention() {
	if e.retained != nil {
		e.retained.cancel()
		e.retained = nil
	}
}

// watchRetention closes a retained connection when it is no longer needed.
func (c *Cache[C]) watchRetention(ctx context.Context, e *entry[C], r *retention) {
	timer := time.NewTimer(c.o.recheck)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if !c.isNeeded(ctx, r) && c.closeRetained(e, r) {
			return
		}
		timer.Reset(c.o.failure)
	}
}

// isNeeded reports whether a retained connection is needed. A panic counts as false: in
// this goroutine it would end the process.
func (c *Cache[C]) isNeeded(ctx context.Context, r *retention) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	c.mu.Lock()
	needed := r.needed
	c.mu.Unlock()

	return needed != nil && needed(ctx)
}

// closeRetained closes a retained connection, and reports whether it did. It does not
// while there is a build, which may end the retention.
func (c *Cache[C]) closeRetained(e *entry[C], r *retention) bool {
	c.mu.Lock()
	if e.retained != r || e.build != nil {
		c.mu.Unlock()

		return false
	}
	e.endRetention()
	unused := e.retire()
	c.mu.Unlock()
	c.closeAll(unused)

	return true
}
