package limit

import "time"

// breaker is a circuit breaker: once tripped it blocks all calls, and after an
// interval lets one call through as a probe.
type breaker struct {
	threshold         int
	first, maxBackoff time.Duration

	tripped      bool
	reason       string
	failures     int // consecutive
	interval     time.Duration
	until        time.Time
	answered     bool // the system has answered a call
	probe        *call
	probeStarted time.Time
}

// blockedFor returns how long a tripped breaker still blocks all calls. It also blocks them while a probe is in
// flight, unless the probe takes so long that it counts as lost.
func (b *breaker) blockedFor(now time.Time) time.Duration {
	switch {
	case now.Before(b.until):
		return b.until.Sub(now)
	case b.probe != nil && now.Before(b.probeStarted.Add(b.maxBackoff)):
		return probeRecheck
	default:
		return 0
	}
}

// recordFailure records a call whose error concerns the whole connection. The breaker
// trips after threshold such calls in a row, and blocks for at least retryAfter. Calls
// that were let through before it tripped do not count.
func (b *breaker) recordFailure(now time.Time, c *call, reason string, threshold int, retryAfter time.Duration) {
	switch {
	case b.tripped && c != b.probe:
		return
	case b.tripped:
		b.interval = min(2*b.interval, b.maxBackoff)
	default:
		b.failures++
		if b.failures < threshold {
			return
		}
		b.interval = b.first
	}
	b.tripped, b.reason, b.probe, b.until = true, reason, nil, now.Add(max(b.interval, retryAfter))
}

// recordResponse records a call that the system answered, and reports whether that
// resets a tripped breaker.
func (b *breaker) recordResponse(c *call) bool {
	b.answered = true
	if b.tripped && c != b.probe {
		return false
	}
	reset := b.tripped
	b.tripped, b.reason, b.probe, b.failures = false, "", nil, 0

	return reset
}

// recordCanceled records a call that was canceled, which proves nothing. If it was the
// probe, another one follows after the interval.
func (b *breaker) recordCanceled(now time.Time, c *call) {
	if b.tripped && c == b.probe {
		b.probe, b.until = nil, now.Add(b.interval)
	}
}

// probeNow lets a probe through at once and restarts the backoff.
func (b *breaker) probeNow(now time.Time) {
	if b.tripped {
		b.interval, b.until, b.probe = b.first/2, now, nil
	}
}
