package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// TestPromptness: an Observe that takes its time after the end of its context is found, also if it is shorter than the
// deadline of calls.
func TestPromptness(t *testing.T) {
	d := newDiskService(Named)
	d.stamped = true
	suite := d.suite(&wreck{diskClient: &diskClient{d}, observe: func(
		ctx context.Context, p *diskClient, v *volume.Volume,
	) (managed.ExternalObservation, error) {
		if ctx.Err() != nil {
			<-time.After(2 * promptTicks * promptTick)
		}

		return p.Observe(ctx, v)
	}})
	if k := examine(t, suite); !k.findings.says("calls-return", "with a context that has ended before the call") {
		t.Errorf("it is not found, but %v", k.findings.list)
	}
}
