package conformance

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// checkObserveStable checks that two observations are equal if nothing changed. Schedules check the status, because
// managed.WithVolatileStatus permits fields that change by themselves.
func (m *directChecks) checkObserveStable() *finding {
	first, err1 := m.observe(context.Background(), m.mg)
	second, err2 := m.observe(context.Background(), m.mg)
	if err1 != nil || err2 != nil || !equality.Semantic.DeepEqual(first, second) {
		return m.finding(
			"observe-is-stable", "of %s it says %s, and at once after that %s", m.mg.GetName(),
			describeObservation(first, err1),
			describeObservation(second, err2))
	}
	return nil
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
