package conformance

import (
	"context"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// leastSettle is the shortest time in which the external system is given the opportunity to make a change that its
// caller no longer waits for.
const leastSettle = 500 * time.Millisecond

// settleTime returns how long the suite waits for a change that may come after its call has failed, and usually does
// not come. The patience of the suite is too long for that: it is set for the slowest change on the slowest machine.
// The time is several times that of the slowest change that the direct checks have seen, see noteChange. It is at least
// leastSettle, and at most the patience of the suite. Calls that wait for their change may take longer than the
// patience: then the time is at least twice that of the slowest change.
func (k *runner) settleTime() time.Duration {
	slowest := k.ledger.slowest
	limit := max(k.suite.Patience, 2*slowest)

	return k.suite.Delay + min(max(leastSettle, timesSlowest*slowest), limit)
}

// noteChange notes how long a change took that shows in the external system now, and whose call began at a time of
// activeTime. The time of the call counts: a call may start a change and wait for it, and the change goes on if
// the call is interrupted.
func (l *ledger) noteChange(began time.Time) {
	l.slowest = max(l.slowest, l.activeTime().Sub(began))
}

// activeTime returns the time of a clock that stops while the suite waits for requests that have outlived their
// call. Some are never answered, and that says nothing about the time of a change.
func (l *ledger) activeTime() time.Time { return time.Now().Add(-l.wire.waited) }

// settle waits until the function is returns true, but at most for the settle time. It reports whether is returned
// true. The time begins when the external system has answered the requests that are known to be outstanding, and
// Observe of mg succeeds again: a client may send a request again once it is connected.
func (m *directChecks) settle(mg resource.Managed, is func() bool) bool {
	m.ledger.wire.awaitPending(m.host)
	m.eventually(func() bool { return is() || m.works(mg) })

	return m.during(m.settleTime(), is)
}

// works reports whether Observe succeeds. Other checks judge the call.
func (m *directChecks) works(mg resource.Managed) bool {
	return m.host.call(context.Background(), "Observe of "+string(mg.GetUID()), func(ctx context.Context) error {
		mg := clone(mg)
		c, err := m.recorder.connecter.Connect(ctx, mg)
		if err == nil && !isNil(c) {
			_, err = c.Observe(ctx, mg)
		}

		return err
	}) == nil
}
