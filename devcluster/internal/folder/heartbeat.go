package folder

import (
	"context"
	"fmt"
	"os"
	"time"
)

// beatChecks is how often the heartbeat is looked at before it counts as
// stopped. Looks are counted rather than time, so that a machine that slept
// gives its users the chance to beat again.
const beatChecks = 20

// MakeHeartbeat makes the file whose modification time users renew.
func (f Folder) MakeHeartbeat() error {
	if err := os.WriteFile(f.Heartbeat(), nil, 0o600); err != nil {
		return f.cannotWrite(err)
	}
	return nil
}

// AwaitIdle returns nil when the heartbeat has not been renewed for about ttl. By then the file is gone, so that a
// user either renews it in time or finds it missing and starts another server: there is no moment in between.
func (f Folder) AwaitIdle(ctx context.Context, ttl time.Duration) error {
	tick := time.NewTicker(max(ttl/beatChecks, time.Millisecond))
	defer tick.Stop()
	var last time.Time
	for checks := 0; ; checks++ {
		info, err := os.Stat(f.Heartbeat())
		if err != nil {
			return fmt.Errorf("cannot read heartbeat: %w", err)
		}
		if !info.ModTime().Equal(last) {
			last, checks = info.ModTime(), 0
		}
		if checks >= beatChecks {
			if idle, err := f.claimHeartbeat(last); idle || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// claimHeartbeat renames the heartbeat, and renames it back if it was just renewed.
func (f Folder) claimHeartbeat(last time.Time) (idle bool, err error) {
	away := f.Heartbeat() + ".ended"
	if err := os.Rename(f.Heartbeat(), away); err != nil {
		return false, fmt.Errorf("cannot end heartbeat: %w", err)
	}
	info, err := os.Stat(away)
	if err != nil {
		return false, fmt.Errorf("cannot read heartbeat: %w", err)
	}
	if info.ModTime().Equal(last) {
		return true, nil
	}
	return false, os.Rename(away, f.Heartbeat())
}
