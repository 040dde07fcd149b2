package conformance

import (
	"context"
	"fmt"
	"slices"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// isNotCreated reports whether an error of Create says that nothing was created. The reconciler then forgets that it
// has called Create. AlreadyExists does not say so, because the same call may have been made twice and have created the
// resource.
func isNotCreated(err error) bool { return external.IsNotCreated(err) }

// checkNotCreated checks that Create returns external.NotCreated only if nothing was created. Create must not return it
// if the response was lost or the context has ended.
func (m *directChecks) checkNotCreated() *finding {
	before := m.resourceIDs()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if failure := m.checkCreateError(ended, before, "with a context that has ended", func() {}); failure != nil {
		return failure
	}
	if s, ok := m.suite.Probe.(Silencer); ok {
		end := m.disturbShortened("Probe.Silence", s.Silence)
		if end == nil {
			return nil // the probe failed
		}
		failure := m.checkCreateError(context.Background(), before, "while no answer of the external system comes", end)
		if failure != nil {
			return failure
		}
	}
	if m.ledger.wire.interrupter == nil {
		return nil
	}
	for _, s := range cutSchedules(callAt{}, m.ledger.wire.most["Create"]) {
		if s.faults != nil {
			continue // no process dies here
		}
		end := m.ledger.wire.interrupt(m.host, s.cut.interruption())
		failure := m.checkCreateError(context.Background(), before, s.cut.while(), end)
		if failure != nil || m.host.stopped() {
			return failure
		}
	}

	return nil
}

// checkCreateError calls Create for another object and ends the disturbance. It then compares the error with the
// created resources, once their state is settled: the external system may finish a request whose answer was lost, or
// undo it.
func (m *directChecks) checkCreateError(ctx context.Context, before []string, when string, end func()) *finding {
	mg := m.stored(m.sample)
	m.names[mg.GetUID()] = "another object"
	err := m.call(mg, func(c managed.ExternalClient) error {
		return c.Create(managed.ContextWithCreationToken(ctx, string(mg.GetUID())+"-0001"), mg)
	})
	end()
	made := func() bool {
		m.ledger.refresh(mg.GetUID())

		return len(m.ledger.Of(mg.GetUID())) > 0
	}
	hides := !isNotCreated(err) && m.isTakenForFailure(err)
	// a resource that is made late must not be attributed to the next call
	exists := err != nil && m.settle(mg, made)
	var failure *finding
	if exists && (isNotCreated(err) || hides) && !m.eventually(func() bool { return !made() }) {
		switch {
		case isNotCreated(err):
			failure = m.finding("refusal-is-true", "%s, %s", when,
				describeNotCreated(mg, m.ledger.Of(mg.GetUID()), err))
		case hides && ctx.Err() == nil: // the reconciler notices a context that has ended
			failure = m.finding("create-errors-tell",
				"%s, Create of %s made %v, and returned an error that does not say so: "+
					"wrap the error of the request, or return external.MaybeCreated: %v",
				when, mg.GetName(), m.ledger.Of(mg.GetUID()), err)
		}
	}
	m.cleanUp(before)

	return failure
}

// isTakenForFailure reports whether the reconciler handles an error of Create as a failure, although the client does
// not mark it with external.NotCreated.
func (m *directChecks) isTakenForFailure(err error) bool {
	return err != nil && m.suite.Class == Opaque && !external.IsAlreadyExists(err) &&
		external.EffectOf(err) != external.EffectPossible
}

// describeNotCreated describes a wrong external.NotCreated.
func describeNotCreated(mg resource.Managed, made []string, err error) string {
	slices.Sort(made)

	return fmt.Sprintf(
		"Create of %s made %v, and says by external.NotCreated that it made nothing: %v", mg.GetName(), made, err)
}
