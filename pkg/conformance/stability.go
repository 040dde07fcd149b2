package conformance

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// checkObserveStable checks that two observations are equal if nothing changed, also in what they write to the status.
// The status of a system that is in use may differ once, so several observations have to.
func (m *directChecks) checkObserveStable() *finding {
	first, err1 := m.observe(context.Background(), m.mg)
	before := clone(m.mg)
	second, err2 := m.observe(context.Background(), m.mg)
	if err1 != nil || err2 != nil || !equality.Semantic.DeepEqual(first, second) {
		return m.finding(
			"observe-is-stable", "of %s it says %s, and at once after that %s", m.mg.GetName(),
			describeObservation(first, err1),
			describeObservation(second, err2))
	}
	for range 3 {
		if equality.Semantic.DeepEqual(before, m.mg) {
			return nil
		}
		before = clone(m.mg)
		if _, err := m.observe(context.Background(), m.mg); err != nil {
			return nil // other checks report it
		}
	}

	return m.finding("observe-is-stable", "each Observe of %s changes the object, although nothing has changed in the "+
		"external system: %s. Each change is a write to the API server, so leave out what changes by itself",
		m.mg.GetName(), describeLeaves(leavesOf(before), leavesOf(m.mg)))
}

// describeObservation describes an observation without its connection details.
func describeObservation(o managed.ExternalObservation, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}

	return fmt.Sprintf(
		"exists=%t upToDate=%t owner=%s diff=%q details=%d", o.ResourceExists, o.ResourceUpToDate, o.Owner, o.Diff,
		len(o.ConnectionDetails))
}
