package conformance

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// checkInterruptedObserve checks an Observe of several requests: wherever the connection breaks, Observe returns an
// error, or what it says without the interruption. The resource exists and is up to date.
func (m *directChecks) checkInterruptedObserve() *finding {
	if m.ledger.wire.interrupter == nil {
		return nil
	}
	for _, s := range cutSchedules(callAt{}, m.ledger.wire.most["Observe"]) {
		if s.faults != nil {
			continue // no process dies here
		}
		if failure := m.checkObserveDuring(s.cut); failure != nil || m.host.stopped() {
			return failure
		}
		if failure := m.checkRecovered(); failure != nil || m.host.stopped() {
			return failure
		}
	}

	return nil
}

// checkObserveDuring checks an Observe that is interrupted.
func (m *directChecks) checkObserveDuring(interrupted cut) *finding {
	before, err := m.observe(context.Background(), clone(m.mg))
	if err != nil || !before.ResourceExists {
		return nil // another check reports it
	}
	var o managed.ExternalObservation
	mg := clone(m.mg)
	err = m.call(mg, func(c managed.ExternalClient) (err error) {
		end := m.ledger.wire.interrupt(m.host, interrupted.interruption())
		defer end()
		o, err = c.Observe(context.Background(), mg)

		return err
	})
	switch {
	case err != nil:
		return nil
	case !o.ResourceExists:
		return m.finding("unknown-is-not-absent",
			"%s, Observe of %s says that nothing exists, without an error: return the error of each request",
			interrupted.while(), m.mg.GetName())
	case before.ResourceUpToDate && !o.ResourceUpToDate:
		return m.finding("observe-is-stable", "%s, Observe of %s says that the resource is not up to date, "+
			"without an error, and nothing has changed: return the error of each request", interrupted.while(), m.mg.GetName())
	default:
		return nil
	}
}
