package managed

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/deadline"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// How long a Create under way may go on after a shutdown began. Together with
// the time to record its result it stays below the 30 seconds that a manager
// waits.
const createLinger = 4 * time.Second

// A timeoutClient client ends its calls in time, so that something is left of the
// pass to say so.
type timeoutClient struct {
	ExternalClient

	deadline time.Time // zero: none
	pass     *pass
}

// callDeadline returns when all external calls of the pass that ctx belongs to
// are to be over, or zero.
func callDeadline(ctx context.Context) time.Time {
	if deadline, ok := ctx.Deadline(); ok {
		return deadline.Add(-persistTimeout)
	}

	return time.Time{}
}

func (b timeoutClient) Observe(ctx context.Context, mg resource.Managed) (ExternalObservation, error) {
	ctx, cancel := withDeadline(ctx, b.deadline)
	defer cancel()

	return b.ExternalClient.Observe(ctx, mg)
}

// Create goes on for a while when ctx is cancelled: a creation that is cut off
// is one whose result nobody knows.
func (b timeoutClient) Create(ctx context.Context, mg resource.Managed) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it has no parent that would keep it
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(createLinger, cancel) })
	defer stop()
	lasting, done := withDeadline(lasting, b.deadline)
	defer done()
	lasting, end, err := b.pass.underLease(lasting)
	if err != nil {
		return external.NotCreated(err)
	}
	defer end()

	return afterDeadline(lasting, b.ExternalClient.Create(lasting, mg))
}

func (b timeoutClient) Update(ctx context.Context, mg resource.Managed) error {
	ctx, cancel := withDeadline(ctx, b.deadline)
	defer cancel()

	return b.ExternalClient.Update(ctx, mg)
}

func (b timeoutClient) Delete(ctx context.Context, mg resource.Managed) error {
	ctx, cancel := withDeadline(ctx, b.deadline)
	defer cancel()

	return b.ExternalClient.Delete(ctx, mg)
}

// withDeadline returns a context that ends at a time, if there is one.
func withDeadline(ctx context.Context, end time.Time) (context.Context, context.CancelFunc) {
	if end.IsZero() {
		return context.WithCancel(ctx)
	}

	return deadline.At(ctx, end)
}
