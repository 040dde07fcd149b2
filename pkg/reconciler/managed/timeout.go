package managed

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/deadline"
)

// How long a Create under way may continue after a shutdown began. Together with the time to record its result it
// stays below the 30 seconds that a manager waits.
const createLinger = 4 * time.Second

// callDeadline returns the deadline of all external calls of the pass that ctx belongs to, or zero.
func callDeadline(ctx context.Context) time.Time {
	if deadline, ok := ctx.Deadline(); ok {
		return deadline.Add(-persistTimeout)
	}

	return time.Time{}
}

// withDeadline returns a context with a deadline, if there is one.
func withDeadline(ctx context.Context, end time.Time) (context.Context, context.CancelFunc) {
	if end.IsZero() {
		return context.WithCancel(ctx)
	}

	return deadline.At(ctx, end)
}
