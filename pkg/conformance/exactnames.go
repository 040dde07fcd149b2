package conformance

import (
	"context"
	"strings"

	"github.com/moorage-dev/moorage/pkg/meta"
)

// checkExactNames checks that Observe does not take a resource for that of the object if its name differs in the case
// of letters. It does so only where the external system can have both names at once. It makes and removes nothing under
// the name of the object: an external system may show a removed resource for a while, or not give its name again.
func (m *directChecks) checkExactNames() *finding {
	maker, ok := m.suite.Probe.(UnownedMaker)
	name := meta.GetExternalName(m.mg)
	other := strings.ToUpper(name)
	if !ok || m.class != Named || other == name || m.ledger.delay > 0 {
		return nil
	}
	defer m.cleanUp(m.before)
	lower, upper := name+"0", other+"0"
	if !m.makeListed(maker, lower, true) || !m.makeListed(maker, upper, false) || !m.lists(lower) ||
		!m.makeListed(maker, other, false) || m.lists(name) {
		return nil // the external system has no such names, or does not distinguish them
	}
	o, err := m.observe(context.Background(), clone(m.mg))
	if err == nil && o.ResourceExists {
		return m.finding("absent-is-no-error", "only %q exists, and Observe of %s says that its resource %q does: compare "+
			"names exactly", other, m.mg.GetName(), name)
	}

	return nil
}

// makeListed makes a resource without an owner, and reports whether the probe lists it under this name. A resource that
// the probe does not list is removed. If wait is set, the external system may take its time.
func (m *directChecks) makeListed(maker UnownedMaker, name string, wait bool) bool {
	like := clone(m.mg)
	meta.SetExternalName(like, name)
	id := name
	err := m.host.call(context.Background(), "Probe.Make", func(ctx context.Context) (err error) {
		id, err = maker.Make(ctx, like)

		return err
	})
	if err != nil {
		return false
	}
	if m.listed(name)() || wait && m.eventually(m.listed(name)) {
		return true
	}
	_ = m.host.callProbe("Probe.Remove", func(ctx context.Context) error { return m.suite.Probe.Remove(ctx, id) })

	return false
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
