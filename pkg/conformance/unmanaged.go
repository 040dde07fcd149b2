package conformance

import (
	"context"
	"maps"
	"slices"

	"github.com/moorage-dev/moorage/pkg/meta"
)

// An UnmanagedDrifter is a Probe that can change a field that the spec leaves open and the client does not manage.
type UnmanagedDrifter interface {
	// DriftUnmanaged changes a field of a resource, and of its State, that the specs of the samples leave open, and that
	// the client does not manage. No mutation changes the field.
	DriftUnmanaged(ctx context.Context, id string) error
}

// checkUnmanaged checks that an Update keeps the fields that the spec leaves open.
func (m *directChecks) checkUnmanaged() *finding {
	d, ok := m.suite.Probe.(UnmanagedDrifter)
	mutation := m.firstMutation()
	if !ok || mutation == nil {
		return nil
	}
	id := meta.GetExternalName(m.mg)
	was := m.ledger.existing[id].State
	err := m.host.call(context.Background(), "Probe.DriftUnmanaged", func(ctx context.Context) error {
		return d.DriftUnmanaged(ctx, id)
	})
	if err != nil {
		_ = m.host.giveUpProbe("Probe.DriftUnmanaged of "+id+" fails: "+err.Error(), err)

		return nil
	}
	drifted := map[string]string{}
	shown := func() bool {
		m.ledger.refresh(m.mg.GetUID())
		for field, value := range m.ledger.existing[id].State {
			if was[field] != value {
				drifted[field] = value
			}
		}

		return len(drifted) > 0
	}
	if !m.eventually(shown) {
		return m.finding("suite-is-complete", "Probe.DriftUnmanaged of %q changes no field of State", id)
	}
	o, err := m.observe(context.Background(), clone(m.mg))
	if err != nil || !o.ResourceUpToDate {
		return m.finding("suite-is-complete", "after Probe.DriftUnmanaged, Observe of %s says %s: change a field that the "+
			"client does not manage", m.mg.GetName(), describeObservation(o, err))
	}

	return m.updateKeeps(drifted, *mutation)
}

// updateKeeps applies a mutation, and checks that fields keep their values.
func (m *directChecks) updateKeeps(fields map[string]string, mutation Mutation) *finding {
	mg := clone(m.mg)
	setSpec(mg, mutated(m.sample, mutation))
	mg.SetGeneration(m.mg.GetGeneration() + 1)
	if failure := m.updateTo(mg, m.wantedState(m.sample, &mutation), "was changed by "+mutation.Name); failure != nil {
		return failure
	}
	id := meta.GetExternalName(mg)
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if got := m.ledger.existing[id].State[field]; got != fields[field] {
			return m.finding("update-keeps-the-rest", "Update of %s with the mutation %s changed %s of its resource from %s to "+
				"%s, which the spec leaves open: change only what differs from the spec", mg.GetName(), mutation.Name, field,
				quoted(fields[field]), quoted(got))
		}
	}
	setSpec(mg, m.sample)
	mg.SetGeneration(mg.GetGeneration() + 1)
	m.mg = mg

	return m.updateTo(mg, m.wantedState(m.sample, nil), "was set back after "+mutation.Name)
}
