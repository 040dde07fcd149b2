package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// A busyProbe is the probe of a system that refuses to delete a disk in use.
type busyProbe struct {
	*diskService

	busy *bool
}

func (p busyProbe) Protect(context.Context, string) (func(context.Context) error, error) {
	*p.busy = true

	return func(context.Context) error {
		*p.busy = false

		return nil
	}, nil
}

// TestARefusedDeleteKeepsNothing: a client whose failed Deletes use up a pool is found.
func TestARefusedDeleteKeepsNothing(t *testing.T) {
	for name, tc := range map[string]struct{ keeps, slow bool }{
		"Keeps": {true, false}, "KeepsAtTheDeadline": {true, true}, "Releases": {false, false},
		"ReleasesAtTheDeadline": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			keeps := tc.keeps
			d := newDiskService(Named)
			d.stamped = true
			busy, pool := false, make(chan struct{}, 4)
			suite := d.suite(&wreck{diskClient: &diskClient{d}, remove: func(
				ctx context.Context, p *diskClient, v *volume.Volume,
			) error {
				select {
				case pool <- struct{}{}:
				case <-ctx.Done():
					return ctx.Err()
				}
				if busy && tc.slow {
					<-ctx.Done() // the system still waits for the users of the disk
				}
				if busy && keeps {
					return errors.New("the disk is in use")
				}
				defer func() { <-pool }()
				if busy {
					return errors.New("the disk is in use")
				}

				return p.Delete(ctx, v)
			}})
			suite.Probe, suite.Within, suite.CallTimeout = busyProbe{d, &busy}, time.Nanosecond, 500*time.Millisecond
			k := examine(t, suite)
			found := k.findings.says("calls-return", "calls of Delete of vol that the external system refused")
			if found != keeps || !keeps && len(k.findings.list) > 0 {
				t.Errorf("the findings are %v", k.findings.list)
			}
		})
	}
}

// TestVainCalls: the calls use up each usual pool, whatever the number of processors.
func TestVainCalls(t *testing.T) {
	for _, processors := range []int{1, 2, 4, 8, 64} {
		for pool, size := range map[string]int{
			"pgx": max(4, processors), "go-redis": 10 * processors, "ten": 10, "database/sql, as recommended": 25, "thirty": 30,
		} {
			if calls := vainCalls(processors); calls <= size {
				t.Errorf("%d processors: %d calls do not use up the pool %s of %d", processors, calls, pool, size)
			}
		}
	}
}
