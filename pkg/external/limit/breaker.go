package limit

import "time"

// A breaker keeps calls from a system that does not work. It is open then; after
// an interval one call probes whether it still has to be.
type breaker struct {
	threshold      int
	first, longest time.Duration

	open     bool
	reason   string
	failures int // in a row
	interval time.Duration
	until    time.Time
	probe    *call
	probing  time.Time
}

// shutFor is how long nobody gets through an open breaker. Nobody does while a
// probe is under way, unless it takes so long that it is taken for lost.
func (b *breaker) shutFor(now time.Time) time.Duration {
	switch {
	case now.Before(b.until):
		return b.until.Sub(now)
	case b.probe != nil && now.Before(b.probing.Add(b.longest)):
		return soon
	default:
		return 0
	}
}

// fail is for a call that says that nothing works, for a reason that takes a
// number of them in a row to be believed, and perhaps for how long. What was let
// through before the breaker opened says nothing new.
func (b *breaker) fail(now time.Time, c *call, reason string, enough int, after time.Duration) {
	switch {
	case b.open && c != b.probe:
		return
	case b.open:
		b.interval = min(2*b.interval, b.longest)
	default:
		b.failures++
		if b.failures < enough {
			return
		}
		b.interval = b.first
	}
	b.open, b.reason, b.probe, b.until = true, reason, nil, now.Add(max(b.interval, after))
}

// answered is for a call that shows that the system works, and reports whether
// the breaker closes because of it.
func (b *breaker) answered(c *call) bool {
	if b.open && c != b.probe {
		return false
	}
	closes := b.open
	b.open, b.reason, b.probe, b.failures = false, "", nil, 0

	return closes
}

// unknown is for a call that shows nothing. If it was the probe, there is another
// one after the interval.
func (b *breaker) unknown(now time.Time, c *call) {
	if b.open && c == b.probe {
		b.probe, b.until = nil, now.Add(b.interval)
	}
}

// retry lets a probe through now, whatever there was before.
func (b *breaker) retry(now time.Time) {
	if b.open {
		b.interval, b.until, b.probe = b.first/2, now, nil
	}
}
