package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// HTTP statuses of pages that another server returns instead of the external system. The unavailableStatuses come from
// a server that does not know the path, from a server that requires a login, and from a proxy without backends. The
// other statuses refuse a change.
var (
	unavailableStatuses = []int{http.StatusNotFound, http.StatusForbidden, http.StatusBadGateway}
	misroutedStatuses   = slices.Concat(unavailableStatuses, []int{
		http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
	})
)

// whileMisrouted describes the situation for a message.
func whileMisrouted(status int) string {
	return fmt.Sprintf("while a page with the status %d answers in the place of the external system", status)
}

// misroute lets a page with the status respond to all requests of clients. It returns a function that ends this, or nil
// if Misroute fails.
func (k *runner) misroute(status int) (end func()) {
	// the callers require a Misrouter
	r := k.suite.Probe.(Misrouter)

	return k.disturb("Probe.Misroute", func(ctx context.Context) (func(context.Context) error, error) {
		return r.Misroute(ctx, status)
	})
}

// checkMisrouted checks that the client does not take such a page for the response that a resource does not exist.
func (m *directChecks) checkMisrouted() *finding {
	return m.withMisrouting(unavailableStatuses, m.checkAbsenceWhileMisrouted)
}

// checkMisroutedChanges checks, with another object, that the client does not take such a page for a successful change.
// It runs last, because another check reports a client that changes nothing at all.
func (m *directChecks) checkMisroutedChanges() *finding {
	if _, ok := m.suite.Probe.(Misrouter); !ok {
		return nil
	}
	if failure := m.createAgain(); failure != nil {
		return failure
	}

	return m.withMisrouting(misroutedStatuses, func(status int) *finding {
		return m.checkChangesFail(whileMisrouted(status), status != http.StatusNotFound)
	})
}

// createAgain creates another object, unless the current one exists.
func (m *directChecks) createAgain() *finding {
	if !meta.WasDeleted(m.mg) {
		return nil
	}
	m.mg = m.stored(m.sample)
	m.token = string(m.mg.GetUID()) + "-0001"
	for _, step := range []func() *finding{m.checkCreate, m.checkCreatedObserved} {
		if failure := step(); failure != nil {
			return failure
		}
	}

	return nil
}

// checkBrokenChanges checks that the client does not report success for a change while the external system is
// unavailable.
func (m *directChecks) checkBrokenChanges() *finding {
	b, ok := m.suite.Probe.(Breaker)
	if !ok {
		return nil
	}
	if failure := m.createAgain(); failure != nil {
		return failure
	}
	mend := m.breakSystem(b)
	if mend == nil {
		return nil // the probe failed
	}
	failure := m.checkChangesFail("while the external system is broken", true)
	if mend(); failure != nil {
		return failure
	}

	return m.checkRecovered()
}

// withMisrouting runs a check once for each status, while a page with this status responds.
func (m *directChecks) withMisrouting(statuses []int, check func(status int) *finding) *finding {
	if _, ok := m.suite.Probe.(Misrouter); !ok {
		return nil
	}
	for _, status := range statuses {
		end := m.misroute(status)
		if end == nil {
			return nil // the probe failed
		}
		failure := check(status)
		if end(); failure != nil {
			return failure
		}
	}

	return m.checkRecovered()
}

// checkAbsenceWhileMisrouted checks that neither Observe nor RecoverCreation reports that the resource does not exist.
func (m *directChecks) checkAbsenceWhileMisrouted(status int) *finding {
	o, err := m.observe(context.Background(), clone(m.mg))
	if err == nil && !o.ResourceExists {
		return m.finding(
			"unknown-is-not-absent", "%s, Observe of %s says that nothing exists, without an error",
			whileMisrouted(status),
			m.mg.GetName())
	}
	missed, mg := false, m.withoutExternalName()
	err = m.call(mg, func(c managed.ExternalClient) error {
		recoverer, ok := c.(managed.CreationRecoverer)
		if !ok {
			return nil
		}
		found, err := recoverer.RecoverCreation(context.Background(), mg, m.token)
		missed = !found

		return err
	})
	if err == nil && missed {
		return m.finding(
			"unknown-is-not-absent", "%s, RecoverCreation of %s says that nothing was created, without an error",
			whileMisrouted(status), m.mg.GetName())
	}

	return nil
}

// checkChangesFail checks that changes return errors. A Delete may take a page with a 404 for success, because Observe
// is called after it: deletes is then false.
func (m *directChecks) checkChangesFail(when string, deletes bool) *finding {
	other := m.stored(m.sample)
	m.names[other.GetUID()] = "another object"
	if err := m.callCreate(other, string(other.GetUID())+"-0001"); err == nil {
		return m.finding("refused-is-told", "%s, Create of another object returns no error: return the error of each request",
			when)
	}
	if mg := m.withFirstMutation(); mg != nil {
		if err := m.callUpdate(mg); err == nil {
			return m.finding("refused-is-told", "%s, Update of %s returns no error: return the error of each request", when,
				mg.GetName())
		}
	}
	mg := clone(m.mg)
	setDeleted(mg)
	if err := m.callDelete(mg); err == nil && deletes {
		return m.finding("refused-is-told", "%s, Delete of %s returns no error: return the error of each request", when,
			mg.GetName())
	}

	return nil
}

// withFirstMutation returns a copy of the object with the first mutation that is not
// immutable, or nil.
func (m *directChecks) withFirstMutation() resource.Managed {
	mutation := m.firstMutation()
	if mutation == nil {
		return nil
	}
	mg := clone(m.mg)
	setSpec(mg, mutated(m.sample, *mutation))
	mg.SetGeneration(m.mg.GetGeneration() + 1)

	return mg
}

// firstMutation returns the first mutation that is not immutable, or nil.
func (m *directChecks) firstMutation() *Mutation {
	at := slices.IndexFunc(m.suite.Mutations, func(of Mutation) bool { return !of.Immutable })
	if at < 0 {
		return nil
	}

	return &m.suite.Mutations[at]
}

// checkIndependentCalls checks that a call that waits for the external system does not block calls for other objects.
func (m *directChecks) checkIndependentCalls() *finding {
	h, ok := m.suite.Probe.(Holder)
	if !ok {
		return nil
	}
	var held <-chan struct{}
	end := m.disturb("Probe.Hold", func(ctx context.Context) (end func(context.Context) error, err error) {
		held, end, err = h.Hold(ctx, meta.GetExternalName(m.mg))

		return end, err
	})
	if end == nil {
		return nil // the probe failed
	}
	other := m.stored(m.sample)
	m.names[other.GetUID()] = "another object"
	meta.SetExternalName(other, meta.GetExternalName(m.mg)+"-2")
	passed := false
	err := m.host.callFor(context.Background(), 2*m.host.limit, "Observe of "+m.mg.GetName()+
		", which waits, and then of another object", func(ctx context.Context) error {
		passed = m.observesInParallel(ctx, held, other)

		return nil
	})
	end()
	if err == nil && !passed {
		return m.finding("calls-return",
			"while a call for %s waits for the external system, Observe of another object does not return: "+
				"do not hold a lock that objects share while a request is under way", m.mg.GetName())
	}

	return nil
}

// observesInParallel reports whether Observe of another object returns while Observe of mg waits. It returns after both
// calls have ended.
func (m *directChecks) observesInParallel(ctx context.Context, held <-chan struct{}, other resource.Managed) bool {
	first, giveUp := context.WithCancel(ctx)
	firstDone := m.startObserve(first, clone(m.mg))
	select {
	case <-held:
	case <-firstDone: // it sends no request
	case <-ctx.Done():
	}
	second, cancel := context.WithTimeout(ctx, m.host.limit)
	defer cancel()
	secondDone := m.startObserve(second, other)
	passed := false
	select {
	case <-secondDone:
		passed = second.Err() == nil
	case <-second.Done():
	}
	giveUp()
	<-firstDone
	<-secondDone

	return passed
}

// startObserve calls Observe in a goroutine. The returned channel is closed when the call has ended. The result is
// ignored, because other checks cover it.
func (m *directChecks) startObserve(ctx context.Context, mg resource.Managed) <-chan struct{} {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		c, err := m.recorder.connecter.Connect(ctx, mg)
		if err == nil && !isNil(c) {
			_, _ = c.Observe(ctx, mg)
		}
	}()

	return ended
}
