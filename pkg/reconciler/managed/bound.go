package managed

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// How long a Create under way may go on after a shutdown began. Together with
// the time to record its result it stays below the 30 seconds that a manager
// waits.
const createLinger = 5 * time.Second

// A bounded client ends its calls in time, so that something is left of the
// pass to say so.
type bounded struct {
	ExternalClient

	deadline time.Time // zero: none
}

// Bound returns the client with the deadline for all external calls of the pass
// that ctx belongs to.
func bound(ctx context.Context, c ExternalClient) ExternalClient {
	deadline, ok := ctx.Deadline()
	if !ok {
		return bounded{ExternalClient: c}
	}

	return bounded{ExternalClient: c, deadline: deadline.Add(-persistTimeout)}
}

func (b bounded) Observe(ctx context.Context, mg resource.Managed) (ExternalObservation, error) {
	ctx, cancel := b.limit(ctx)
	defer cancel()

	return b.ExternalClient.Observe(ctx, mg)
}

// Create goes on for a while when ctx is cancelled: a creation that is cut off
// is one whose result nobody knows.
func (b bounded) Create(ctx context.Context, mg resource.Managed) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(createLinger, cancel) })
	defer stop()
	lasting, done := b.limit(lasting)
	defer done()

	return b.ExternalClient.Create(lasting, mg)
}

func (b bounded) Update(ctx context.Context, mg resource.Managed) error {
	ctx, cancel := b.limit(ctx)
	defer cancel()

	return b.ExternalClient.Update(ctx, mg)
}

func (b bounded) Delete(ctx context.Context, mg resource.Managed) error {
	ctx, cancel := b.limit(ctx)
	defer cancel()

	return b.ExternalClient.Delete(ctx, mg)
}

func (b bounded) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.deadline.IsZero() {
		return context.WithCancel(ctx)
	}

	return context.WithDeadline(ctx, b.deadline)
}
