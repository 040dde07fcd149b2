package managed

import (
	"context"
	"sync"
	"time"

	"github.com/moorage-dev/moorage/internal/panics"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// What a lease must have left for a change to begin.
const leaseMargin = time.Second

// WithFence sets what is asked before each call that changes something outside.
// An error means that this process may not, because another one may be at work:
// the call is not made. A panic is such an error, and the object tells it. While the
// function does not return, its pass waits, and the object says CallOverdue. The default
// is to ask nobody.
func WithFence(fence func(context.Context) error) ReconcilerOption {
	return func(r *Reconciler) { r.fence = fence }
}

// WithLeaseDeadline sets until when this process surely is the only one, such as
// [controller.Lease.Deadline] of the lock that was given to the manager. No call
// that changes something outside begins in the last second before, and those
// that are under way end then. The zero time is no deadline. If the
// function panics, no such call begins, and the object tells that. While it does not
// return, its pass waits, and the object says CallOverdue. The default is none.
func WithLeaseDeadline(deadline func() time.Time) ReconcilerOption {
	return func(r *Reconciler) { r.lease = deadline }
}

// checkFence returns an error if this process may not change anything outside now.
func (p *object) checkFence(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.Errorf("%w: this process stops: %w", errFenced, ctx.Err())
	}
	if err := p.r.restored(); err != nil {
		return errors.Errorf("%w: %w", errFenced, err)
	}
	left, limited, err := p.leaseLeft()
	if err != nil {
		return err
	}
	if limited && left <= leaseMargin {
		return errors.Errorf("%w: the lease of this process ends", errFenced)
	}
	if p.r.fence == nil {
		return nil
	}
	if err := p.guarded("fence", func() error { return p.r.fence(ctx) }); err != nil {
		return errors.Errorf("%w: %w", errFenced, err)
	}

	return nil
}

// leaseLeft returns what is left of the lease. An error says that nobody knows: nothing may begin.
func (p *object) leaseLeft() (left time.Duration, limited bool, err error) {
	return p.leaseAsked(p.guarded)
}

// leaseConcurrently does what leaseLeft does, beside a pass that may wait for something else.
func (p *object) leaseConcurrently() (left time.Duration, limited bool, err error) {
	return p.leaseAsked(func(_ string, call func() error) error { return panics.Call(call) })
}

// leaseAsked asks for the lease. The monotonic clock stands still while a machine is
// suspended, and the wall clock may be set: the lesser counts. A time that has no reading
// of the monotonic clock is compared by the wall clock.
func (p *object) leaseAsked(ask func(string, func() error) error) (left time.Duration, limited bool, err error) {
	if p.r.lease == nil {
		return left, false, nil
	}
	var deadline time.Time
	if err := ask("lease deadline", func() error { deadline = p.r.lease(); return nil }); err != nil {
		return left, false, errors.Errorf("%w: %w", errFenced, err)
	}
	if deadline.IsZero() {
		return left, false, nil
	}
	now := p.now()

	return min(deadline.Sub(now), deadline.Round(0).Sub(now)), true, nil
}

// leaseOverConcurrently says whether the lease is over, if that is known before ctx ends.
func (p *object) leaseOverConcurrently(ctx context.Context) bool {
	over := make(chan bool, 1)
	go func() {
		left, limited, err := p.leaseConcurrently()
		over <- err == nil && limited && left <= 0
	}()
	select {
	case is := <-over:
		return is
	case <-ctx.Done():
		return false
	}
}

// underLease returns a context that ends with the lease, however often that is
// renewed meanwhile. A lease that does not say so was not renewed.
func (p *object) underLease(ctx context.Context) (context.Context, context.CancelFunc, error) {
	left, limited, err := p.leaseLeft()
	if err != nil {
		return nil, nil, err
	}
	if !limited {
		return ctx, func() {}, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var timer *time.Timer
	var mu sync.Mutex
	check := func() {
		mu.Lock()
		defer mu.Unlock()
		silent := time.AfterFunc(leaseMargin, func() { cancel(context.DeadlineExceeded) })
		defer silent.Stop()
		if left, limited, err := p.leaseConcurrently(); err != nil || limited && left <= 0 {
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
	}, nil
}
