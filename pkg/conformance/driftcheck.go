package conformance

import (
	"context"
	"fmt"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// checkDrift checks that Observe notices a change that others make, and that Update corrects it.
func (m *directChecks) checkDrift() *finding {
	d, ok := m.suite.Probe.(Drifter)
	if !ok {
		return nil
	}
	id := meta.GetExternalName(m.mg)
	err := m.host.callProbeOnce("Probe.Drift", func(ctx context.Context) error { return d.Drift(ctx, id) })
	if err != nil {
		_ = m.host.giveUpProbe(fmt.Sprintf("Probe.Drift of %q fails: %v", id, err), err)

		return nil
	}
	m.ledger.lastMutation = m.host.lastReturn
	m.ledger.refresh(m.mg.GetUID())
	var o managed.ExternalObservation
	noticed := func() bool {
		o, err = m.observe(context.Background(), m.mg)

		return err == nil && o.ResourceExists && !o.ResourceUpToDate
	}
	if !m.eventually(noticed) {
		return m.finding("converges", "after Probe.Drift has changed the resource of %s, Observe says %s: compare what "+
			"exists with the spec", m.mg.GetName(), describeObservation(o, err))
	}
	m.reportLater(m.checkDifferences(m.mg, o, "Probe.Drift"))

	return m.updateTo(m.mg, m.wantedState(m.sample, nil), "was changed by Probe.Drift")
}
