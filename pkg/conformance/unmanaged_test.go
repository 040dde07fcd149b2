package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// A notingProbe is the probe of a system in which administrators write notes on disks.
type notingProbe struct {
	*diskService

	notes map[string]string // by disk
}

func (p notingProbe) List(ctx context.Context) ([]Resource, error) {
	all, err := p.diskService.List(ctx)
	for _, r := range all {
		r.State["note"] = p.notes[r.ID]
	}

	return all, err
}

func (p notingProbe) DriftUnmanaged(_ context.Context, id string) error {
	p.notes[id] = "ask before you delete it"

	return nil
}

// TestAnUpdateKeepsTheRest: a client whose Update resets a field that the spec does not have is found.
func TestAnUpdateKeepsTheRest(t *testing.T) {
	for name, resets := range map[string]bool{"Resets": true, "Keeps": false} {
		t.Run(name, func(t *testing.T) {
			d := newDiskService(Named)
			d.stamped = true
			probe := notingProbe{d, map[string]string{}}
			suite := d.suite(&wreck{diskClient: &diskClient{d}, update: func(
				ctx context.Context, p *diskClient, v *volume.Volume,
			) error {
				err := p.Update(ctx, v)
				if err == nil && resets {
					delete(probe.notes, meta.GetExternalName(v))
				}

				return err
			}})
			suite.Probe, suite.Within = probe, time.Nanosecond
			k := examine(t, suite)
			found := k.findings.says("update-keeps-the-rest",
				`Update of vol with the mutation grow changed note of its resource from "ask before you delete it" to ""`)
			if found != resets || !resets && len(k.findings.list) > 0 {
				t.Errorf("the findings are %v", k.findings.list)
			}
		})
	}
}
