package managed

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/listcache"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
)

// observe prepares the object, connects, looks up an attempt whose result is unknown, and observes.
func (p *pass) observe(ctx context.Context) error {
	if err := p.preparedOrStored(ctx); err != nil {
		return err
	}
	if err := p.connectOrStore(ctx); err != nil {
		return err
	}
	if err := p.writeUnwritten(ctx); err != nil { // whose text may bear what only the client knows to be secret
		return err
	}
	if err := p.storePending(ctx); err != nil {
		return err
	}
	if p.causeUnchanged() {
		return errCauseUnchanged
	}
	if err := p.inherit(ctx); err != nil {
		return err
	}
	if err := p.recover(ctx); err != nil {
		return err
	}
	o, err := p.observeOrRecover(ctx)
	if err != nil || p.operation != nil || p.unlisted != 0 {
		return err
	}
	p.observation, p.observed = o, true
	if p.listed {
		return nil
	}

	return p.acceptObservation(ctx)
}

// connectOrStore connects. If that fails, it still stores a restored record, because this process may end before it
// can connect.
func (p *pass) connectOrStore(ctx context.Context) error {
	err := p.connect(ctx)
	if err == nil {
		return nil
	}
	if unstored := p.storeRestored(ctx); unstored != nil {
		return unstored
	}

	return connecting.failed(err)
}

// connect makes the client of the pass, and wraps it.
func (p *pass) connect(ctx context.Context) error {
	if p.external != nil {
		return nil
	}
	own, _ := withDeadline(ctx, callDeadline(ctx)) // it ends with the pass: a client may keep it for later calls
	p.rereadCredentials()
	var c ExternalClient
	err := p.instrumentGuarded(own, telemetry.Connect, func(ctx context.Context) (err error) {
		if c, err = p.r.connecter.Connect(ctx, p.mg); err == nil && c != nil {
			p.inspect(c)
		}

		return err
	})
	if err != nil {
		return p.connectFailed(ctx, err)
	}
	if c == nil {
		return errors.New("the connecter returned no client and no error")
	}
	p.external = instrumentedClient{timeoutClient{p.withoutChanges(c), callDeadline(ctx), p}, &p.clientSession}
	if p.r.changes != nil {
		p.external = changeLogClient{p.external, p}
	}
	p.external = fencedClient{p.external, p}
	if p.bindConnection(); p.gate != nil {
		p.external = rateLimitedClient{p.external, p}
	}
	p.subscribe(ctx)
	if err := p.checkBackend(); err != nil {
		p.external = nil // nothing is to be called

		return err
	}

	return nil
}

// observeOrRecover observes. If no resource has the external name, it looks for the resource of the first attempt,
// whose record may be lost.
func (p *pass) observeOrRecover(ctx context.Context) (ExternalObservation, error) {
	o, err := p.observeExternal(ctx)
	if err != nil || p.operation != nil || p.unlisted != 0 || p.listed || o.ResourceExists || !p.recordMayBeLost() {
		return o, err
	}
	if found, err := p.recoverFirstAttempt(ctx); !found || err != nil {
		return o, err
	}

	return p.observeExternal(ctx)
}

// observeExternal observes. The connection details in the observation are secret from then on, because a later step
// may fail with them in its error.
func (p *pass) observeExternal(ctx context.Context) (ExternalObservation, error) {
	o, err := p.observeOperation(ctx)
	if err == nil && !p.listed {
		p.hideDetails(o)
	}

	return o, err
}

// observeOperation observes. If an operation is in progress, its handle is in the context. The client may then
// request only the state of the operation.
func (p *pass) observeOperation(ctx context.Context) (ExternalObservation, error) {
	handle := operationOf(p.mg)
	if handle != "" {
		ctx = external.WithOperationHandle(ctx, handle)
	} else if o, listed, err := p.fromList(ctx); listed || err != nil || p.unlisted != 0 {
		p.listed = listed

		return o, err
	}
	o, err := p.external.Observe(ctx, p.mg)
	switch {
	case external.IsNotFound(err):
		o, err = ExternalObservation{}, nil
	case err != nil:
		return o, p.notObserved(ctx, handle, err)
	}
	setOperation(p.mg, "") // what went on, if anything did, has ended

	return o, err
}

// fromList uses the shared list of the connection. Unless listed, the object is observed alone, or the list is not
// complete yet.
func (p *pass) fromList(ctx context.Context) (o ExternalObservation, listed bool, err error) {
	for p.listEligible() {
		c := p.r.lists.Lookup(p.member, p.now())
		switch c.Answer {
		case listcache.Wait:
			p.unlisted, p.listAfter = awaitingList, c.After

			return o, false, nil
		case listcache.List:
			if err := p.list(ctx, c.Listing); err != nil || p.unlisted != 0 {
				return o, false, err
			}
		case listcache.Listed:
			return p.observeListed(ctx, c.Item), true, nil
		default:
			p.r.telemetry.Listed(telemetry.NotListed)

			return o, false, nil
		}
	}

	return o, false, nil
}

// observeListed makes an observation from the item of a list. It ignores an item that shows a change or causes an
// error.
func (p *pass) observeListed(ctx context.Context, item any) ExternalObservation {
	before := p.protectedMetadata()
	o, err := p.lister.ObserveListed(ctx, p.mg, item)
	p.restoreProtected(before)
	if err != nil || !o.ResourceExists || o.ResourceLateInitialized || !isReady(p.mg) {
		p.log().Debug("A list shows what an observation has to confirm", "error", p.redact(err))

		return ExternalObservation{}
	}

	return o
}

// confirmListed uses the item of a list as the observation.
func (p *pass) confirmListed(ctx context.Context) error {
	p.listed = false
	p.r.telemetry.Listed(telemetry.Listed)
	p.markTouched()
	p.hideDetails(p.observation)

	return p.acceptObservation(ctx)
}

// acceptObservation updates the memory, the connection details and the late initialization after an observation.
func (p *pass) acceptObservation(ctx context.Context) (err error) {
	o := p.observation
	p.observedOnce = true
	if !o.ResourceExists && p.inherited == "" {
		if err := p.inherit(ctx); err != nil {
			return err
		}
	}
	notOwned := p.notOwned()
	p.differences = nil
	if p.clearDoubts(notOwned); !notOwned {
		p.compare(o)
		if o.ResourceExists {
			p.rememberFound()
		}
	}
	if err := p.warnLostDetails(ctx); err != nil {
		return err
	}
	p.detailsPending = p.unpublished()
	p.warnOldSecret()
	if p.lateInitPatch, err = p.lateFields(); err != nil {
		return observing.failed(err)
	}
	if o.ResourceExists && !o.ResourceUpToDate {
		p.acceptDifferences(notOwned)
	}

	return nil
}

// observeAlone ends a pass in which a list showed something that an observation has to confirm. The next pass starts
// without the item.
func (p *pass) observeAlone(context.Context) error {
	p.listed, p.observed, p.observation = false, false, ExternalObservation{}
	p.r.telemetry.Listed(telemetry.Doubtful)
	p.member.Alone = true

	return nil
}

// awaitList ends a pass before the list is complete. It stores nothing, because nothing was observed.
func (p *clientSession) awaitList(context.Context) error { return nil }
