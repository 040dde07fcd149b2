package managed

import (
	"context"
	"sync"
	"time"

	"github.com/moorage-dev/moorage/internal/panics"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// The least time that a lease must have left for a change to begin.
const leaseMargin = time.Second

// WithFence sets a function that the reconciler calls before each call that changes the external system. If the
// function returns an error or panics, another process may be the leader, and the reconciler does not make the call.
// The object reports a panic. If the function does not return, the pass waits, and the condition Synced has the reason
// CallOverdue. The default is no function.
func WithFence(fence func(context.Context) error) ReconcilerOption {
	return func(r *Reconciler) { r.fence = fence }
}

// WithLeaseDeadline sets a function that returns the time until which this process is certainly the only leader. An
// example is [controller.Lease.Deadline] of the lock that was given to the manager. The zero time means no deadline.
// The default is no function.
//
// In the last second before the deadline the reconciler begins no call that changes the external system. At the
// deadline it cancels such calls in progress.
//
// If the function panics, the reconciler begins no such call, and the object reports the panic. If the function does
// not return, the pass waits, and the condition Synced has the reason CallOverdue.
func WithLeaseDeadline(deadline func() time.Time) ReconcilerOption {
	return func(r *Reconciler) { r.lease = deadline }
}

// checkFence returns an error if this process must not change the external system now.
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

// leaseOverConcurrently reports whether the lease is over, if that is known before ctx ends.
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

// underLease returns a context that ends with the lease, and that takes renewals of the lease into account. If the
// function that returns the deadline fails, the lease counts as not renewed.
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

// leaseLeft returns the remaining time of the lease. After an error it is unknown, and nothing may begin.
func (p *object) leaseLeft() (left time.Duration, limited bool, err error) {
	return p.leaseAsked(p.guarded)
}

// leaseConcurrently is leaseLeft for another goroutine than the pass, which may wait for another call.
func (p *object) leaseConcurrently() (left time.Duration, limited bool, err error) {
	return p.leaseAsked(func(_ string, call func() error) error { return panics.Call(call) })
}

// leaseAsked returns the remaining time of the lease. It uses the shorter of the times by the monotonic clock and by
// the wall clock. The monotonic clock stops while a machine is suspended, and the wall clock may be set. A deadline
// without a monotonic reading is compared only with the wall clock.
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
