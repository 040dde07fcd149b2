package conformance

import (
	"testing"
	"time"
)

// TestPatienceIsNotUsedUp: the suite does not wait for its whole patience, which is longer than any test, when nothing
// is expected to happen. TestSettledCreate has the changes that come late.
func TestPatienceIsNotUsedUp(t *testing.T) {
	s := lineSuite(t, func(*lineClient) {})
	s.Within, s.Samples, s.Patience = time.Nanosecond, s.Samples[:1], time.Hour
	for _, f := range examine(t, s).findings.list {
		t.Error(f)
	}
}

// TestSettleTime: the time grows with the slowest change, between half a second and the patience of the suite.
func TestSettleTime(t *testing.T) {
	cases := map[string]struct{ slowest, patience, delay, want time.Duration }{
		"Fast":         {time.Millisecond, time.Minute, 0, leastSettle},
		"Slow":         {time.Second, time.Minute, 0, 8 * time.Second},
		"SlowerYet":    {time.Minute, time.Minute, 0, time.Minute},
		"Impatient":    {time.Millisecond, time.Millisecond, 0, time.Millisecond},
		"WithADelay":   {time.Millisecond, time.Minute, time.Second, time.Second + leastSettle},
		"NothingKnown": {0, time.Minute, 0, leastSettle},
	}
	for name, c := range cases {
		k := &runner{suite: Suite{Patience: c.patience, Delay: c.delay}, ledger: &ledger{slowest: c.slowest}}
		if got := k.settleTime(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
