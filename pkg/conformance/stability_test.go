package conformance

import (
	"context"
	"testing"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestTheStatusIsStable: a client that writes something else to the status each time it looks is found by direct calls.
// One that does so once is not.
func TestTheStatusIsStable(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		from   int // the number of observations after which the status stays
		found  bool
	}{
		"Always": {"A counter of observations is a write to the API server for each.", 1 << 30, true},
		"Once":   {"A status may settle after the creation.", 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDiskService(Named)
			d.stamped = true
			n := 0
			suite := d.suite(&wreck{diskClient: &diskClient{d}, observe: func(
				ctx context.Context, p *diskClient, v *volume.Volume,
			) (managed.ExternalObservation, error) {
				o, err := p.Observe(ctx, v)
				if n++; o.ResourceExists {
					v.Status.SizeGiB = int64(min(n, tc.from))
				}

				return o, err
			}})
			suite.Within = 1
			k := examine(t, suite)
			found := k.findings.says("observe-is-stable", "each Observe of vol changes the object, although nothing has "+
				"changed in the external system: status.sizeGiB was ")
			if found != tc.found || !tc.found && len(k.findings.list) > 0 {
				t.Errorf("%s The findings are %v", tc.reason, k.findings.list)
			}
		})
	}
}
