package conformance

import (
	"context"
	"strings"

	"github.com/moorage-dev/moorage/pkg/meta"
)

// checkExactNames checks that Observe does not take a resource for that of the object if its name differs in the case
// of letters. It does so only where the external system can have both names at once.
func (m *directChecks) checkExactNames() *finding {
	maker, ok := m.suite.Probe.(UnownedMaker)
	name := meta.GetExternalName(m.mg)
	other := strings.ToUpper(name)
	if !ok || m.class != Named || other == name || m.ledger.delay > 0 {
		return nil
	}
	defer m.cleanUp(m.before)
	for _, as := range []string{name, other} {
		like := clone(m.mg)
		meta.SetExternalName(like, as)
		err := m.host.call(context.Background(), "Probe.Make", func(ctx context.Context) error {
			_, err := maker.Make(ctx, like)

			return err
		})
		if err != nil {
			return nil // the external system has no such names
		}
		if as == name && !m.eventually(m.listed(name)) {
			return m.finding("probe-tells-the-truth", "Probe.Make made %q, and the probe does not list it", name)
		}
	}
	if !m.listed(other)() || !m.lists(name) {
		return nil // it does not distinguish them
	}
	err := m.host.callProbe("Probe.Remove", func(ctx context.Context) error { return m.suite.Probe.Remove(ctx, name) })
	gone := func() bool { return !m.listed(name)() }
	if err != nil || !m.eventually(gone) || !m.lists(other) {
		return nil
	}
	o, err := m.observe(context.Background(), clone(m.mg))
	if err == nil && o.ResourceExists {
		return m.finding("absent-is-no-error", "only %q exists, and Observe of %s says that its resource %q does: compare "+
			"names exactly", other, m.mg.GetName(), name)
	}

	return nil
}

// listed returns a function that reads the resources and reports whether the probe lists one.
func (m *directChecks) listed(id string) func() bool {
	return func() bool {
		m.ledger.refresh(noObject)

		return m.lists(id)
	}
}

// lists reports whether the probe has listed a resource.
func (m *directChecks) lists(id string) bool {
	_, exists := m.ledger.existing[id]

	return exists
}
