package managed

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The interfaces that the decorators of the author's client need of a pass. From the outermost: rateLimitedClient,
// fencedClient, changeLogClient, instrumentedClient, timeoutClient.
type (
	// A rateLimiter acquires and releases permits of a rate limiter.
	rateLimiter interface {
		acquirePermit(ctx context.Context) (release func(error), err error)
		call(release func(error), do func() error) error
		callCreate(do func() error) error
	}

	// A fence rejects the calls of a process that is not the leader any more.
	fence interface {
		checkFence(ctx context.Context) error
		underLease(ctx context.Context) (context.Context, context.CancelFunc, error)
	}

	// A changeRecorder records changes for the change log.
	changeRecorder interface {
		recordChange(ctx context.Context, operation changelog.Operation, attempt string,
			call func(context.Context) error) error
	}
)

// A rateLimitedClient acquires a permit before each call.
type rateLimitedClient struct {
	ExternalClient

	limiter rateLimiter
}

func (l rateLimitedClient) Observe(ctx context.Context, mg resource.Managed) (o ExternalObservation, err error) {
	release, err := l.limiter.acquirePermit(ctx)
	if err != nil {
		return o, err
	}
	err = l.limiter.call(release, func() (err error) {
		o, err = l.ExternalClient.Observe(ctx, mg)

		return err
	})

	return o, err
}

// Create uses the permit of the rate limit that was acquired before anything was written.
func (l rateLimitedClient) Create(ctx context.Context, mg resource.Managed) error {
	return l.limiter.callCreate(func() error { return l.ExternalClient.Create(ctx, mg) })
}

func (l rateLimitedClient) Update(ctx context.Context, mg resource.Managed) error {
	release, err := l.limiter.acquirePermit(ctx)
	if err != nil {
		return err
	}

	return l.limiter.call(release, func() error { return l.ExternalClient.Update(ctx, mg) })
}

func (l rateLimitedClient) Delete(ctx context.Context, mg resource.Managed) error {
	release, err := l.limiter.acquirePermit(ctx)
	if err != nil {
		return err
	}

	return l.limiter.call(release, func() error { return l.ExternalClient.Delete(ctx, mg) })
}

// A fencedClient makes no change that the fence rejects.
type fencedClient struct {
	ExternalClient

	pass fence
}

func (f fencedClient) Create(ctx context.Context, mg resource.Managed) error {
	if err := f.pass.checkFence(ctx); err != nil {
		return external.NotCreated(err)
	}

	return f.ExternalClient.Create(ctx, mg)
}

func (f fencedClient) Update(ctx context.Context, mg resource.Managed) error {
	if err := f.pass.checkFence(ctx); err != nil {
		return err
	}

	ctx, done, err := f.pass.underLease(ctx)
	if err != nil {
		return err
	}
	defer done()

	return f.ExternalClient.Update(ctx, mg)
}

func (f fencedClient) Delete(ctx context.Context, mg resource.Managed) error {
	if err := f.pass.checkFence(ctx); err != nil {
		return err
	}

	ctx, done, err := f.pass.underLease(ctx)
	if err != nil {
		return err
	}
	defer done()

	return f.ExternalClient.Delete(ctx, mg)
}

// A changeLogClient records the changes that it makes.
type changeLogClient struct {
	ExternalClient

	pass changeRecorder
}

func (l changeLogClient) Create(ctx context.Context, mg resource.Managed) error {
	id, _ := attempt.Of(mg)

	return l.pass.recordChange(ctx, changelog.OperationCreate, id,
		func(ctx context.Context) error { return l.ExternalClient.Create(ctx, mg) })
}

func (l changeLogClient) Update(ctx context.Context, mg resource.Managed) error {
	return l.pass.recordChange(ctx, changelog.OperationUpdate, "",
		func(ctx context.Context) error { return l.ExternalClient.Update(ctx, mg) })
}

func (l changeLogClient) Delete(ctx context.Context, mg resource.Managed) error {
	return l.pass.recordChange(ctx, changelog.OperationDelete, "",
		func(ctx context.Context) error { return l.ExternalClient.Delete(ctx, mg) })
}

// An instrumentedClient counts, times and traces its calls. It uses the session directly, without an interface,
// because functions that it passed to the session would be allocated, see TestSteadyPassAllocates.
type instrumentedClient struct {
	ExternalClient

	session *clientSession
}

func (m instrumentedClient) Observe(ctx context.Context, mg resource.Managed) (o ExternalObservation, err error) {
	err = m.session.instrumentGuarded(ctx, telemetry.Observe, func(ctx context.Context) error {
		o, err = m.ExternalClient.Observe(ctx, mg)

		return err
	})

	return o, err
}

func (m instrumentedClient) Create(ctx context.Context, mg resource.Managed) error {
	return m.session.instrumentGuarded(ctx, telemetry.Create,
		func(ctx context.Context) error { return m.ExternalClient.Create(ctx, mg) })
}

func (m instrumentedClient) Update(ctx context.Context, mg resource.Managed) error {
	return m.session.instrumentGuarded(ctx, telemetry.Update,
		func(ctx context.Context) error { return m.ExternalClient.Update(ctx, mg) })
}

func (m instrumentedClient) Delete(ctx context.Context, mg resource.Managed) error {
	return m.session.instrumentGuarded(ctx, telemetry.Delete,
		func(ctx context.Context) error { return m.ExternalClient.Delete(ctx, mg) })
}

// A timeoutClient ends its calls early enough to leave the pass time for its report.
type timeoutClient struct {
	ExternalClient

	deadline time.Time // zero: none
	fence    fence
}

func (b timeoutClient) Observe(ctx context.Context, mg resource.Managed) (ExternalObservation, error) {
	ctx, cancel := withDeadline(ctx, b.deadline)
	defer cancel()

	return b.ExternalClient.Observe(ctx, mg)
}

// Create continues for a few seconds after ctx is canceled, because the result of an interrupted creation is unknown.
func (b timeoutClient) Create(ctx context.Context, mg resource.Managed) error {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx)) // without a parent that would retain it
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(createLinger, cancel) })
	defer stop()
	lasting, done := withDeadline(lasting, b.deadline)
	defer done()
	lasting, end, err := b.fence.underLease(lasting)
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
