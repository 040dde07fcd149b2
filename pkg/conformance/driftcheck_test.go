package conformance

import (
	"context"
	"testing"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestDriftIsNoticed: a client that compares the spec with what it has requested last, and not with what exists, is
// found by direct calls.
func TestDriftIsNoticed(t *testing.T) {
	d := newDiskService(Named)
	d.stamped = true
	requested := map[string]int64{}
	remember := func(v *volume.Volume) { requested[meta.GetExternalName(v)] = v.Spec.SizeGiB }
	suite := d.suite(&wreck{
		diskClient: &diskClient{d},
		observe: func(ctx context.Context, p *diskClient, v *volume.Volume) (managed.ExternalObservation, error) {
			o, err := p.Observe(ctx, v)
			if o.ResourceExists && v.Spec.Tier == "fast" {
				o.ResourceUpToDate = requested[meta.GetExternalName(v)] == v.Spec.SizeGiB
			}

			return o, err
		},
		create: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			remember(v)

			return p.Create(ctx, v)
		},
		update: func(ctx context.Context, p *diskClient, v *volume.Volume) error {
			remember(v)

			return p.Update(ctx, v)
		},
	})
	k := examine(t, suite)
	if !k.findings.says("converges", "after Probe.Drift has changed the resource of vol, Observe says exists=true "+
		"upToDate=true") || k.schedulesRun > 0 {
		t.Errorf("after %d schedules the findings are %v", k.schedulesRun, k.findings.list)
	}
}
