package managed

import (
	"context"
	"sync"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// What a lease must have left for a change to begin.
const leaseMargin = time.Second

// WithFence sets what is asked before each call that changes something outside.
// An error means that this process may not, because another one may be at work:
// the call is not made. The default is to ask nobody.
func WithFence(fence func(context.Context) error) ReconcilerOption {
	return func(r *Reconciler) { r.fence = fence }
}

// WithLeaseDeadline sets until when this process surely is the only one, such as
// [controller.Lease.Deadline] of the lock that was given to the manager. No call
// that changes something outside begins in the last second before, and those
// that are under way end then. The zero time is no deadline. The default is none.
func WithLeaseDeadline(deadline func() time.Time) ReconcilerOption {
	return func(r *Reconciler) { r.lease = deadline }
}

// ErrNotBegun says that something was not done because this process may not, or is
// to stop.
var errNotBegun = errors.New("not begun")

// MayChange returns an error if this process may not change anything outside now.
func (p *pass) mayChange(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.Errorf("%w: this process stops: %w", errNotBegun, ctx.Err())
	}
	if err := p.r.restored(); err != nil {
		return errors.Errorf("%w: %w", errNotBegun, err)
	}
	if left, limited := p.leaseLeft(); limited && left <= leaseMargin {
		return errors.Errorf("%w: the lease of this process ends", errNotBegun)
	}
	if p.r.fence == nil {
		return nil
	}
	if err := p.r.fence(ctx); err != nil {
		return errors.Errorf("%w: %w", errNotBegun, err)
	}

	return nil
}

// LeaseLeft returns what is left of the lease. The monotonic clock stands still
// while a machine is suspended, and the wall clock may be set: the lesser counts.
func (p *pass) leaseLeft() (left time.Duration, limited bool) {
	if p.r.lease == nil {
		return left, false
	}
	deadline, now := p.r.lease(), p.now()
	if deadline.IsZero() {
		return left, false
	}

	return min(deadline.Sub(now), deadline.Round(0).Sub(now.Round(0))), true
}

// UnderLease returns a context that ends with the lease, however often that is
// renewed meanwhile.
func (p *pass) underLease(ctx context.Context) (context.Context, context.CancelFunc) {
	left, limited := p.leaseLeft()
	if !limited {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var timer *time.Timer
	var mu sync.Mutex
	check := func() {
		mu.Lock()
		defer mu.Unlock()
		if left, limited := p.leaseLeft(); limited && left <= 0 {
			cancel(context.DeadlineExceeded)
		} else if ctx.Err() == nil {
			timer.Reset(max(left, leaseMargin))
		}
	}
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(left, check)

	return ctx, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}

// A fenced client changes nothing that it may not.
type fenced struct {
	ExternalClient

	pass *pass
}

func (f fenced) Create(ctx context.Context, mg resource.Managed) error {
	if err := f.pass.mayChange(ctx); err != nil {
		return external.NotCreated(err)
	}

	return f.ExternalClient.Create(ctx, mg)
}

func (f fenced) Update(ctx context.Context, mg resource.Managed) error {
	if err := f.pass.mayChange(ctx); err != nil {
		return err
	}

	ctx, done := f.pass.underLease(ctx)
	defer done()

	return f.ExternalClient.Update(ctx, mg)
}

func (f fenced) Delete(ctx context.Context, mg resource.Managed) error {
	if err := f.pass.mayChange(ctx); err != nil {
		return err
	}

	ctx, done := f.pass.underLease(ctx)
	defer done()

	return f.ExternalClient.Delete(ctx, mg)
}
