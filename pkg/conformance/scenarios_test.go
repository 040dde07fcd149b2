package conformance

import (
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
	if !run.waitWithinPatience() || !run.waitWithinPatience() {
		t.Fatal("the patience is used up by short waits")
	}
	run.lastWait = run.lastWait.Add(-time.Minute) // passes took that long
	if !run.waitWithinPatience() || run.waitWithinPatience() {
		t.Errorf("after passes that took a minute, %s of the patience are used up", run.patienceUsed)
	}
}
