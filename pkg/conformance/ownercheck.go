package conformance

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// stampedField returns the field of the resource in which Create has stored the managed.Stamp of the object, or "". The
// cluster in the stamp is that of the author. A path with the namespace, the name and the UID alone is no stamp.
func (m *directChecks) stampedField() string {
	end := string(managed.NewStamp("", schema.GroupVersionKind(m.suite.Kind).GroupKind(), m.mg))
	state := m.ledger.existing[meta.GetExternalName(m.mg)].State
	for _, field := range slices.Sorted(maps.Keys(state)) {
		if strings.Contains(state[field], end) {
			return field
		}
	}

	return ""
}

// checkOwner checks the owner that Observe reports. It checks this for the object, and for another object with the same
// external name.
func (m *directChecks) checkOwner() *finding {
	o, err := m.observe(context.Background(), m.mg)
	if err != nil {
		return m.finding("created-is-seen", "Observe of %s fails: %v", m.mg.GetName(), err)
	}
	if o.Owner == managed.OwnerUnknown {
		if field := m.stampedField(); field != "" {
			return m.finding("owner-is-told", "the field %s of the resource of %s has the stamp of the object, and Observe "+
				"reports no owner: compare it by managed.Stamp.Owner, and set ExternalObservation.Owner", field, m.mg.GetName())
		}
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
