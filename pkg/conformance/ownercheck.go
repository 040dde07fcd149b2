package conformance

import (
	"context"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// checkOwner checks the owner that Observe reports. It checks this for the object, and for another object with the same
// external name.
func (m *directChecks) checkOwner() *finding {
	o, err := m.observe(context.Background(), m.mg)
	if err != nil {
		return m.finding("created-is-seen", "Observe of %s fails: %v", m.mg.GetName(), err)
	}
	if o.Owner == managed.OwnerUnknown {
		m.warnOnce("Observe reports no owner (ExternalObservation.Owner is OwnerUnknown). Whatever exists under the " +
			"external name is taken for the object's, and is changed and deleted, also if someone else made it. If the " +
			"external system can store a few words with a resource, store a managed.Stamp there, and compare it in Observe")

		return nil
	}
	if o.Owner != managed.OwnerOurs {
		return m.finding(
			"owner-is-told", "Observe of %s says that what was just created for it is owned by %s", m.mg.GetName(),
			o.Owner)
	}
	m.ledger.traits.Stamped = true
	other := m.stored(m.sample)
	m.names[other.GetUID()] = "another object"
	meta.SetExternalName(other, meta.GetExternalName(m.mg))
	if o, err = m.observe(context.Background(), other); err == nil && o.ResourceExists && o.Owner == managed.OwnerOurs {
		return m.finding(
			"owner-is-told", "Observe of another object with the external name %q says that what was created for %s is its own",
			meta.GetExternalName(m.mg), m.mg.GetName())
	}

	return nil
}
