package conformance

import (
	"slices"
	"testing"
	"time"
)

// TestPassesUseUpPatience: the passes between two waits of the same Settle use up the patience of the suite. With a
// real system, hundreds of waits would take minutes otherwise.
func TestPassesUseUpPatience(t *testing.T) {
	h := newHost(time.Minute)
	defer h.close()
	k := &runner{
		suite: Suite{Patience: time.Minute}, host: h, ledger: &ledger{host: h, probe: newDiskService(Named)},
	}
	run := &scenarioRun{runner: k}
	var got []bool
	for range 2 {
		got = append(got, run.waitWithinPatience())
	}
	run.lastWait = run.lastWait.Add(-time.Minute) // passes took that long
	for range 2 {
		got = append(got, run.waitWithinPatience())
	}
	if want := []bool{true, true, true, false}; !slices.Equal(got, want) {
		t.Errorf("two waits, passes that took a minute, and two waits: %t, want %t", got, want)
	}
}
